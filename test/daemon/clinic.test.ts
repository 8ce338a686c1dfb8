import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startClinicSandbox } from '../../sandbox/clinic/index.ts';
import { firstTenant, frontDeskToken, type Json, NOW, readAll } from '../sandbox/clinic/support.ts';
import { useRedis } from '../support/redis.ts';
import type { WriterResult, WriterTask } from './invoice-writer.ts';

const WRITER = join(import.meta.dirname, 'invoice-writer.ts');
const run = promisify(execFile);
const redis = useRedis();

test('90 invoices at once in three sections from three processes: no gap, no duplicate, no refusal', async () => {
  const sandbox = await startClinicSandbox({ tenants: 1, appointments: 60, now: NOW });
  try {
    const token = await frontDeskToken(sandbox);
    const { id: tenantId } = firstTenant(sandbox);
    const base = `/v2/tenants/${tenantId}`;
    const sections = await readAll(sandbox, token, `${base}/accounting/sections`);
    const [patient] = await readAll(sandbox, token, `${base}/patients`);
    const task: WriterTask = {
      redisUrl: redis.url,
      baseUrl: sandbox.baseUrl,
      token,
      tenantId,
      patientId: String(patient?.id),
      sectionIds: sections.map(({ id }) => String(id)),
      perSection: 10,
    };
    const outputs = await Promise.all([1, 2, 3].map(() => run(process.execPath, [WRITER, JSON.stringify(task)])));
    const results = outputs.flatMap(({ stdout }) => JSON.parse(stdout) as WriterResult[]);

    expect(results.filter((result) => 'code' in result)).toEqual([]);
    const invoices = await readAll(sandbox, token, `${base}/invoices`);
    for (const section of sections) {
      const created = results.filter(({ sectionId }) => sectionId === section.id);
      const numbers = created.map((result) => ('number' in result ? numberOf(result.number) : 0)).sort((a, b) => a - b);
      const first = Number(section.nextNumber);
      expect(numbers).toEqual(Array.from({ length: 3 * task.perSection }, (_, index) => first + index));
      const stored = invoices.filter(({ sectionId }) => sectionId === section.id).map(({ number }) => number);
      expect(new Set(stored).size).toBe(stored.length);
      expect(stored.length).toBe(first - 1 + created.length);
    }
    // One at a time: the clinic never had to refuse one that was out of its order.
    expect(sandbox.counts.requests({ method: 'POST', status: 409 })).toBe(0);
  } finally {
    await sandbox.close();
  }
});

function numberOf(number: Json[string]): number {
  return Number.parseInt(String(number), 10);
}
