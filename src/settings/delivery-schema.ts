import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { wholeNumber } from './common-schemas.ts';
import type { Secret, SecretSchemas } from './secret-reference.ts';

const PORTS = { starttls: 587, tls: 465, none: 25 } as const;
/** Remedy for an invalid e-mail address. */
export const ADDRESS_REMEDY = issueText(message('settings.mail-address'));

/** A mail server and the sender, as read. */
export interface MailServer {
  host: string;
  port: number;
  security: 'starttls' | 'tls' | 'none';
  login?: { user: string; password: Secret<string> } | undefined;
  /** PEM, for a certificate that is not publicly trusted. */
  certificateAuthority?: Secret<string> | undefined;
  from: string;
  timeoutSeconds: number;
}

/** Keys of every mail server in a file; {@link hasSafeServer} and {@link withPort} complete the check. */
export function mailServerKeys(secrets: SecretSchemas) {
  return {
    host: z.hostname().meta({ description: 'Host of the mail server.', examples: ['smtp.example.org'] }),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .optional()
      .describe('Port of the mail server. Default: 587 for `starttls`, 465 for `tls`, 25 for `none`.'),
    security: z
      .enum(['starttls', 'tls', 'none'])
      .default('starttls')
      .describe(
        'Encryption of the connection. `starttls` is mandatory before the first mail; `tls` encrypts from the first byte.',
      ),
    login: z
      .strictObject({ user: z.string().min(1).describe('User name.'), password: secrets.text.describe('Password.') })
      .optional()
      .describe('User and password for the mail server.'),
    certificateAuthority: secrets.plainOrReference
      .optional()
      .describe(
        "PEM certificate of the authority that signed the server's certificate, if the authority is not publicly trusted.",
      ),
    from: z.email(ADDRESS_REMEDY).meta({ description: 'Sender of the mails.', examples: ['mirror@practice.example'] }),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(75)
      .default(60)
      .describe('Seconds within which the mail server must accept a mail.'),
  };
}

/** Decides whether the transport to the server is safe. */
export function hasSafeServer({ security, host }: Pick<MailServer, 'security' | 'host'>): boolean {
  return security !== 'none' || /^127\.|^::1$/.test(host) || !/[.:]/.test(host);
}

/** Fault for an unencrypted mail server. */
export const SERVER_FAULT = {
  path: ['security'],
  message: issueText(message('settings.plain-mail')),
};

/** Adds the default port of the encryption. */
export function withPort<Read extends { port?: number | undefined; security: MailServer['security'] }>(settings: Read) {
  return { ...settings, port: settings.port ?? PORTS[settings.security] };
}

/** Standard Webhooks 1.0, "Signature scheme": 24 to 64 bytes. */
const SECRET_BYTES = { least: 24, most: 64 };
const SECRET_PREFIX = 'whsec_';

/** A receiver of signed webhooks, as read. */
export interface WebhookEndpoint {
  url: string;
  /** Newest first; each adds a signature. */
  secrets: readonly Secret<string>[];
  /** For a receiver in the operator's own network. Networks for tenants' receivers: `outbound.webhooks`. */
  allowPrivateAddresses?: boolean;
}

/** Keys of every webhook receiver in a file. */
export function webhookKeys(secrets: SecretSchemas) {
  const secret = secrets.text.refine((written) => isSigningSecret(written.reveal()), {
    error: issueText(message('settings.signing-secret')),
  });
  return {
    url: z
      .url({ protocol: /^https?$/ })
      .meta({ description: 'URL that receives the messages.', examples: ['https://alerts.example.org/clinic-mirror'] }),
    secrets: z
      .array(secret)
      .min(1)
      .max(5)
      .describe(
        'Signing secrets, newest first. Every secret signs, so the receiver can change the secret at any time.',
      ),
  };
}

function isSigningSecret(text: string): boolean {
  const encoded = text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : '';
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || encoded.length % 4 !== 0) return false;
  const { length } = Buffer.from(encoded, 'base64');
  return length >= SECRET_BYTES.least && length <= SECRET_BYTES.most;
}

/** Recipients of alerts about required actions. */
export function alertsSection(secrets: SecretSchemas) {
  return z
    .strictObject({
      checkEveryMinutes: wholeNumber(1, 60)
        .default(5)
        .describe('Minutes between two checks for problems that require action.'),
      outageAfterMinutes: wholeNumber(1, 1_440)
        .default(15)
        .describe('Minutes after which the daemon alerts about an unavailable server.'),
      language: z.enum(['en', 'it']).default('en').describe('Language of alert mails.'),
      email: z
        .strictObject({
          ...mailServerKeys(secrets),
          to: z
            .array(z.email(ADDRESS_REMEDY))
            .min(1)
            .max(20)
            .meta({ description: 'Recipients of the mails.', examples: [['it@practice.example']] }),
        })
        .refine(hasSafeServer, SERVER_FAULT)
        .transform(withPort)
        .optional()
        .describe('Alerts by e-mail.'),
      webhook: z
        .strictObject({
          ...webhookKeys(secrets),
          allowPrivateAddresses: z
            .boolean()
            .default(false)
            .describe('Allows private IP addresses and http, for a receiver in your own network.'),
        })
        .refine(({ url, allowPrivateAddresses }) => allowPrivateAddresses || url.startsWith('https:'), {
          path: ['url'],
          message: issueText(message('settings.private-receiver')),
        })
        .optional()
        .describe('Alerts to a program, by messages signed according to Standard Webhooks 1.0.'),
    })
    .prefault({})
    .describe(
      'Recipients of alerts about problems that require action. The daemon sends an alert at the start of the problem, on days 3, 7 and 14, and at the end.',
    );
}

/** Parsed alert settings. */
export type AlertSettings = z.output<ReturnType<typeof alertsSection>>;
