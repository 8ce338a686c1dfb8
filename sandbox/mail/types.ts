import type { Counts } from '../kit/counts.ts';
import type { FaultPlan } from '../kit/faults.ts';

/** How the server begins. */
export interface MailSandboxOptions {
  /** Default: a free one. */
  port?: number;
  /** Port of the HTTP side, which lists mails and accepts faults; 0 takes a free one. Default: no HTTP side. */
  httpPort?: number;
  /** Default `starttls`: offered, and required before authentication. */
  security?: 'starttls' | 'tls' | 'none';
  /** Accepted credentials; if absent, no authentication is required. */
  login?: { user: string; password: string };
  /** Offers SMTPUTF8 (RFC 6531). Default: yes. */
  utf8?: boolean;
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

/** A running mail server: received mails, counters, and faults. */
export interface MailSandbox {
  host: string;
  port: number;
  /** The HTTP side, if it is enabled; its paths begin with `/__sandbox/`. */
  adminUrl: string | undefined;
  /** Its certificate for `localhost`, PEM, to be trusted by a client. */
  certificate: string;
  faults: FaultPlan;
  /** `CONNECT`, `AUTH`, `MAIL`, `RCPT`, `DATA`, and `mail:<address>` for each mail taken. */
  counts: Counts;
  /** Oldest first; all mails, or the mails to one recipient. */
  mails(to?: string): TakenMail[];
  /** Forgets the mails. */
  clear(): void;
  close(): Promise<void>;
}
