import type { Instant } from './time.ts';

/** Something outside of the daemon that ends at a known time unless somebody replaces it. */
export interface Ending {
  kind: 'certificate' | 'secret';
  /** The server, `<host>:<port>`, or where the settings name it: `googleClients main`. */
  of: string;
  /** Since when it has counted; null where that is not known. */
  beganAt: Instant | null;
  endsAt: Instant;
}

/** What a client has used of what it may ask, as counted where the requests are allowed. */
export interface QuotaStatus {
  /** Where the settings name it: `hubspotClients main`. */
  client: string;
  /** Of what the budget gives in an hour: 0 to 1, or a little more. */
  hourShare: number;
  /** Tenants whose account has used so much of what the other side allows in 24 hours, where the settings say how much that is. */
  days: readonly { tenant: string; share: number; usedUpAt: Instant | null }[];
}
