import type { ClinicContext } from '../http/context.ts';
import { readOne } from './reading.ts';
import { type ClinicRecord, createReadingCalls, mapperOf, type ResourceCalls } from './reading-calls.ts';

type PriceList = ClinicRecord<'priceLists'>;

/**
 * The calls of specification section 4.7. Its last two paths have the same shape, so one function asks for a price list by its id or its
 * code; the clinic looks for an id first.
 */
export type PriceListCalls = ResourceCalls<PriceList>;

/** Prepares the calls under the context's profile. */
export function createPriceListCalls(context: ClinicContext): PriceListCalls {
  const { list } = createReadingCalls(context, 'priceLists');
  const map = mapperOf(context, 'priceLists');
  return {
    list,
    read: (tenantId, idOrCode, signal) =>
      readOne(context, { list: 'priceLists', tenantId, id: idOrCode, signal }, map, ({ id, code }) =>
        [id, code].includes(idOrCode),
      ),
  };
}
