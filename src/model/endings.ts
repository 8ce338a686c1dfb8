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
