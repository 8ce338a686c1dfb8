import type { SerialiseSection } from '../clinic/write/invoice-calls.ts';
import { MINUTE_MS } from '../model/time.ts';
import type { Leases } from '../state/leases.ts';

/** Longest wait for a section that other daemons create invoices in. */
const WAIT_MS = 2 * MINUTE_MS;

/**
 * Lets one invoice at a time be created in each section, over all daemons that share the leases. Those of this process stand in
 * line here, so that only the first of them waits for the lease.
 * What it does throws `lease-busy` when the section stays busy, `lease-lost` when another took over meanwhile.
 */
export function serialiseSections(leases: Leases): SerialiseSection {
  const lines = new Map<string, Promise<unknown>>();

  async function alone<Value>(
    name: string,
    work: (signal: AbortSignal) => Promise<Value>,
    signal: AbortSignal,
  ): Promise<Value> {
    const lease = await leases.take(name, WAIT_MS, signal);
    try {
      return await work(AbortSignal.any([signal, lease.signal]));
    } finally {
      await lease.release();
    }
  }

  return async ({ tenantId, sectionId }, work, signal) => {
    const name = `invoices:${tenantId}:${sectionId}`;
    const before = lines.get(name) ?? Promise.resolve();
    const mine = before.then(() => alone(name, work, signal));
    const completion = mine.catch(() => undefined);
    lines.set(name, completion);
    try {
      return await mine;
    } finally {
      if (lines.get(name) === completion) lines.delete(name);
    }
  };
}
