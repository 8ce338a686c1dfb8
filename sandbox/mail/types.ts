import type { Counts } from '../kit/counts.ts';
import type { FaultPlan } from '../kit/faults.ts';

/** How the server begins. */
export interface MailSandboxOptions {
  /** Default: a free one. */
  port?: number;
  /** Tells over HTTP what came, and takes faults; 0 takes a free one. Default: not over HTTP. */
  httpPort?: number;
  /** Default `starttls`: offered, and needed before a login. */
  security?: 'starttls' | 'tls' | 'none';
  /** Whom to let in; without it nobody needs to log in. */
  login?: { user: string; password: string };
  /** Seed of the fault rules' generators. */
  seed?: number;
}

/** A mail that the server has answered for, or would have if the answer had not been lost. */
export interface TakenMail {
  from: string;
  to: string[];
  /** As it came, RFC 5322. */
  raw: Buffer;
  /** It came encrypted. */
  secure: boolean;
  /** Who was logged in. */
  user: string | null;
}

/** A running mail server: what a patient would get, what was counted, and faults. */
export interface MailSandbox {
  host: string;
  port: number;
  /** The HTTP side, where there is one; its paths begin with `/__sandbox/`. */
  adminUrl: string | undefined;
  /** Its certificate for `localhost`, PEM, to be trusted by a client. */
  certificate: string;
  faults: FaultPlan;
  /** `CONNECT`, `AUTH`, `MAIL`, `RCPT`, `DATA`, and `mail:<address>` for each mail taken. */
  counts: Counts;
  /** Oldest first; all, or those for one address. */
  mails(to?: string): TakenMail[];
  /** Forgets the mails. */
  clear(): void;
  close(): Promise<void>;
}
