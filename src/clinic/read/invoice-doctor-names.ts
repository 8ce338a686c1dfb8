import { type Clock, HOUR_MS, type Instant } from '../../model/time.ts';
import type { Doctor, InvoiceResolver, LinkedInvoice } from './invoice-doctors.ts';

/** Who took part is looked up again after this time, and at once where an invoice's links change: it is seldom corrected. */
const NAMES_LIFE_MS = 6 * HOUR_MS;

/** Names of the doctors behind invoices. */
export interface InvoiceDoctorNames {
  /** Each once. What keeps an episode from being read is thrown; those that were read are remembered. */
  of(tenantId: string, invoice: LinkedInvoice & { id: string }, signal: AbortSignal): Promise<readonly string[]>;
  /** Drops the names of all other invoices. */
  keepOnly(invoices: ReadonlyMap<string, unknown>): void;
}

/**
 * Remembers the names behind each invoice: a list is read every few minutes, and each of its invoices would cost a call or two.
 * @param resolve follows an invoice's lines
 */
export function createInvoiceDoctorNames(resolve: InvoiceResolver, clock: Clock): InvoiceDoctorNames {
  const known = new Map<string, { links: string; names: readonly string[]; readAt: Instant }>();
  return {
    async of(tenantId, invoice, signal) {
      const links = JSON.stringify([tenantId, invoice.items.map(({ linkedPractices }) => linkedPractices)]);
      const remembered = known.get(invoice.id);
      const readAt = clock();
      if (remembered?.links === links && readAt - remembered.readAt < NAMES_LIFE_MS) return remembered.names;
      const { doctors } = await resolve(tenantId, invoice, signal);
      const names = [...new Set(doctors.flatMap(nameOf))];
      known.set(invoice.id, { links, names, readAt });
      return names;
    },
    keepOnly(invoices) {
      for (const id of known.keys()) if (!invoices.has(id)) known.delete(id);
    },
  };
}

function nameOf({ firstName, lastName }: Doctor): string[] {
  const name = [firstName, lastName].filter((part) => part !== null && part !== '').join(' ');
  return name === '' ? [] : [name];
}
