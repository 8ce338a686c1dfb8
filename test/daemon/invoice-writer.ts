import { asMirrorError } from '../../src/core/model/errors.ts';
import { serialiseSections } from '../../src/daemon/clinic.ts';
import { createLeases } from '../../src/state/leases.ts';
import { connectRedis } from '../../src/state/redis.ts';
import { openApi } from '../clinic/open-api.ts';
import { profileOf, unhurried } from '../clinic/open-client.ts';

/** Settings of the writer, as JSON in its first argument. */
export interface WriterTask {
  redisUrl: string;
  baseUrl: string;
  token: string;
  tenantId: string;
  patientId: string;
  sectionIds: string[];
  perSection: number;
}

/** Result of one invoice. */
export type WriterResult = { sectionId: string; number: string | null } | { sectionId: string; code: string };

/** Creates invoices in all sections at the same time and prints the results as JSON. */
async function write(task: WriterTask): Promise<WriterResult[]> {
  const redis = connectRedis(task.redisUrl);
  const serialise = serialiseSections(createLeases(redis, 'clinic-a', 10_000));
  const api = openApi(task.baseUrl, profileOf(), task.token, { serialise });
  const line = { description: 'Visita', quantity: '1', unitPrice: '50.00', vatRate: '22' };
  const create = async (sectionId: string): Promise<WriterResult> => {
    const values = { sectionId, patientId: task.patientId, issueDate: '2026-03-20', items: [line as never] };
    try {
      return { sectionId, number: (await api.invoices.create(task.tenantId, values, unhurried())).number };
    } catch (error) {
      return { sectionId, code: asMirrorError(error).code };
    }
  };
  const all = task.sectionIds.flatMap((id) => Array.from({ length: task.perSection }, () => create(id)));
  const results = await Promise.all(all);
  redis.disconnect();
  return results;
}

if (import.meta.main)
  process.stdout.write(JSON.stringify(await write(JSON.parse(process.argv[2] ?? '{}') as WriterTask)));
