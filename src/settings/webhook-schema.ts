import { z } from 'zod';
import type { Secret } from './secret.ts';
import type { SecretSchemas } from './secret-reference.ts';

/** Standard Webhooks 1.0, "Signature scheme": 24 to 64 bytes. */
const SECRET_BYTES = { least: 24, most: 64 };
const SECRET_PREFIX = 'whsec_';

/** A receiver of signed webhooks, as its part of a file is read. */
export interface WebhookEndpoint {
  url: string;
  /** Newest first; each signs. */
  secrets: readonly Secret<string>[];
  /** For a receiver that the operator names: it is in their own network. Networks of tenants' receivers: `outbound.webhooks`. */
  allowPrivateAddresses?: boolean;
}

/** The keys that every receiver of webhooks has in a file. */
export function webhookKeys(secrets: SecretSchemas) {
  const secret = secrets.text.refine((written) => isSigningSecret(written.reveal()), {
    error: 'a signing secret is whsec_ and 24 to 64 bytes in base64: echo "whsec_$(openssl rand -base64 32)"',
  });
  return {
    url: z.url({ protocol: /^https?$/ }).describe('Where messages are posted to'),
    secrets: z
      .array(secret)
      .min(1)
      .max(5)
      .describe('Signing secrets, newest first; each signs, so that a receiver may change at its own time'),
  };
}

function isSigningSecret(text: string): boolean {
  const encoded = text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : '';
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || encoded.length % 4 !== 0) return false;
  const { length } = Buffer.from(encoded, 'base64');
  return length >= SECRET_BYTES.least && length <= SECRET_BYTES.most;
}
