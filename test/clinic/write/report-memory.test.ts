// Tier: full. It sends large reports from separate processes.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { firstTenant, frontDeskToken, NOW, readAll } from '../../sandbox/clinic/support.ts';
import type { CarrierResult, CarrierTask } from '../report-carrier.ts';

describe('the memory that a report takes', () => {
  const CARRIER = join(import.meta.dirname, '../report-carrier.ts');

  const MEGABYTE = 1_000_000;

  const run = promisify(execFile);

  let sandbox: ClinicSandbox;

  let known: Pick<CarrierTask, 'baseUrl' | 'token' | 'tenantId' | 'patientId'>;

  beforeAll(async () => {
    sandbox = await startClinicSandbox({ tenants: 1, appointments: 60, now: NOW });
    const { id: tenantId } = firstTenant(sandbox);
    const token = await frontDeskToken(sandbox);
    const [patient] = await readAll(sandbox, token, `/v2/tenants/${tenantId}/patients`);
    known = { baseUrl: sandbox.baseUrl, token, tenantId, patientId: String(patient?.id) };
  });

  afterAll(() => sandbox.close());

  /** Carries in a separate process, so that the sandbox's memory is not counted. */
  async function carry(task: Pick<CarrierTask, 'style' | 'sizeBytes'>): Promise<CarrierResult> {
    const { stdout } = await run(process.execPath, ['--expose-gc', CARRIER, JSON.stringify({ ...known, ...task })]);
    return JSON.parse(stdout) as CarrierResult;
  }

  test.each(['multipart', 'base64'] as const)(
    'a report of 24.9 MB goes up and comes down without being whole in memory: %s',
    async (style) => {
      const sizeBytes = 24.9 * MEGABYTE;
      const result = await carry({ style, sizeBytes });
      if ('code' in result) throw new Error(result.code);
      for (const way of [result.up, result.down]) {
        expect(way.bytes).toBe(sizeBytes);
        expect(way.buffersPeak).toBeLessThan(10 * MEGABYTE);
      }
    },
    120_000,
  );

  test('a report of 25.1 MB is refused before a byte of it is sent', async () => {
    const asked = sandbox.counts.requests({ method: 'POST' });
    expect(await carry({ style: 'multipart', sizeBytes: 25.1 * MEGABYTE })).toEqual({ code: 'file-too-large' });
    // The one request is the small report that goes before.
    expect(sandbox.counts.requests({ method: 'POST' })).toBe(asked + 1);
  });
});
