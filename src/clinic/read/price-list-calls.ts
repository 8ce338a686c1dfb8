import type { Lookup } from '../../model/snapshots.ts';
import type { ClinicContext } from '../http/context.ts';
import { readOne } from './reading.ts';
import { type ClinicRecord, createReadingCalls, mapperOf, type ResourceCalls } from './reading-calls.ts';

type PriceList = ClinicRecord<'priceLists'>;

/** The calls of specification section 4.7. Ids and codes go the same way; the clinic looks for an id first. */
export interface PriceListCalls extends ResourceCalls<PriceList> {
  readByCode(tenantId: string, code: string, signal: AbortSignal): Promise<Lookup<PriceList>>;
}

/** Prepares the calls under the context's profile. */
export function createPriceListCalls(context: ClinicContext): PriceListCalls {
  const { list, read } = createReadingCalls(context, 'priceLists');
  const map = mapperOf(context, 'priceLists');
  return {
    list,
    read,
    readByCode: (tenantId, code, signal) =>
      readOne(context, { list: 'priceLists', tenantId, id: code, signal }, map, (found) => found.code === code),
  };
}
