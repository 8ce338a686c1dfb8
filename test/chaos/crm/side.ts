import type { TruePatient } from '../../../sandbox/clinic/index.ts';
import type { FaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import type { Holdings } from './judge.ts';

/** A CRM that a tenant writes to: its configuration, and its content as a user sees it. */
export interface CrmSide {
  vendor: 'hubspot' | 'salesforce';
  /** Whether an address belongs to only one contact. */
  oneOwner: boolean;
  connections: Record<string, object>;
  targets: Record<string, object>;
  settings: Record<string, object>;
  env: Record<string, string>;
  /** Every request of the daemon to the API passes here. */
  proxy: FaultProxy;
  /** Creates contacts as a user does, with these patients' addresses, before the first start of the daemon. */
  addStrangers(twins: readonly TruePatient[]): void;
  /** Addresses of contacts that users created, in lower case. */
  strangersAddresses(): ReadonlySet<string>;
  holdings(): Holdings;
  close(): Promise<void>;
}

/** Settings of every target here: windows wide enough for all appointments that the sandbox generates. */
export const SHARED_TARGET = { window: { pastDays: 60, futureDays: 200 } };

/** The part `crm` of a contacts' target. Of the past only as much is read as the clinic invents. */
export function contactsOf(mapping: Record<string, unknown>): object {
  return {
    stream: 'patients',
    consents: ['privacy'],
    derived: { historyDays: 40, periodDays: 40, lapsedAfterDays: 40 },
    mapping,
  };
}

/** A value as text, with nothing for empty. */
export function textOf(value: unknown): string | null {
  return value === null || value === undefined || value === '' ? null : String(value);
}

/** An instant as every side spells it here. */
export function instantOf(value: unknown): string | null {
  const text = textOf(value);
  return text === null ? null : new Date(text.replace('+0000', 'Z')).toISOString();
}
