import type { TruePatient } from '../../../sandbox/clinic/index.ts';
import type { FaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import type { Holdings } from './judge.ts';

/** A CRM that a tenant writes into: how the configuration names it, and what a person finds in it. */
export interface CrmSide {
  vendor: 'hubspot' | 'salesforce';
  /** Whether an address belongs to one contact alone. */
  oneOwner: boolean;
  connections: Record<string, object>;
  targets: Record<string, object>;
  settings: Record<string, object>;
  env: Record<string, string>;
  /** Every request of the daemon to the API passes here. */
  proxy: FaultProxy;
  /** People make contacts with the addresses of these patients, before the daemon ever runs. */
  addStrangers(twins: readonly TruePatient[]): void;
  /** Addresses of contacts that people made, in lower case. */
  strangersAddresses(): ReadonlySet<string>;
  holdings(): Holdings;
  close(): Promise<void>;
}

/** What every target here has: windows wide enough for all that the clinic invents. */
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
