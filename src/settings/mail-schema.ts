import { z } from 'zod';
import type { Secret } from './secret.ts';
import type { SecretSchemas } from './secret-reference.ts';

const PORTS = { starttls: 587, tls: 465, none: 25 } as const;
/** What is said of what is no mail address. */
export const ADDRESS_REMEDY = 'give a mail address, such as reminders@clinic.example';

/** A mail server, and whom its mails come from, as a part of a file is read. */
export interface MailServer {
  host: string;
  port: number;
  security: 'starttls' | 'tls' | 'none';
  login?: { user: string; password: Secret<string> } | undefined;
  /** PEM, where the server's certificate is not one that everybody trusts. */
  certificateAuthority?: Secret<string> | undefined;
  from: string;
  timeoutSeconds: number;
}

/** The keys that every mail server has in a file; {@link hasSafeServer} and {@link withPort} complete them. */
export function mailServerKeys(secrets: SecretSchemas) {
  return {
    host: z.hostname().describe('Mail server that takes our mails'),
    port: z.int().min(1).max(65_535).optional().describe('Default 587, for tls 465, for none 25'),
    security: z
      .enum(['starttls', 'tls', 'none'])
      .default('starttls')
      .describe('Encryption: required from the first mail on (starttls), from the first byte on (tls), or none'),
    login: z
      .strictObject({ user: z.string().min(1), password: secrets.text })
      .optional()
      .describe('Login at the mail server'),
    certificateAuthority: secrets.plainOrReference
      .optional()
      .describe("Certificate that the server's own is signed by, PEM, where it is not one that everybody trusts"),
    from: z.email(ADDRESS_REMEDY).describe('Mail address that the mails come from'),
    timeoutSeconds: z.int().min(1).max(75).default(60).describe('Until the mail server has taken a mail'),
  };
}

/** Whether mails may be handed to the server in this way. */
export function hasSafeServer({ security, host }: Pick<MailServer, 'security' | 'host'>): boolean {
  return security !== 'none' || /^127\.|^::1$/.test(host) || !/[.:]/.test(host);
}

/** What is said of a server that mails may not be handed to in clear. */
export const SERVER_FAULT = {
  path: ['security'],
  message: 'only a server on this machine or with a bare host name may be spoken to in clear',
};

/** The settings with the port that the encryption usually has, unless they name one. */
export function withPort<Read extends { port?: number | undefined; security: MailServer['security'] }>(settings: Read) {
  return { ...settings, port: settings.port ?? PORTS[settings.security] };
}
