import type { ClinicContext } from './context.ts';
import { readOne } from './reading.ts';
import { type ClinicRecord, compileMapper, createResourceCalls, type ResourceCalls } from './resource-calls.ts';
import type { Mapped } from './rows.ts';

type PriceList = ClinicRecord<'priceLists'>;

/**
 * The calls of specification section 4.7. Its last two paths have the same shape, so one function asks for a price list by its id or its
 * code; the clinic looks for an id first.
 */
export type PriceListCalls = ResourceCalls<PriceList>;

/** Prepares the calls under the context's profile. */
export function createPriceListCalls(context: ClinicContext): PriceListCalls {
  const { list } = createResourceCalls(context, 'priceLists');
  const map = context.compiled.of(compileMapper, 'priceLists') as (row: unknown) => Mapped<PriceList>;
  return {
    list,
    read: (tenantId, idOrCode, signal) =>
      readOne(context, { list: 'priceLists', tenantId, id: idOrCode, signal }, map, ({ id, code }) =>
        [id, code].includes(idOrCode),
      ),
  };
}
