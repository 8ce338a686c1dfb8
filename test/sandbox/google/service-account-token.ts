import { createSign } from 'node:crypto';
import { z } from 'zod';
import type { ServiceAccountKeyFile } from '../../../sandbox/google/index.ts';

const tokenAnswer = z.object({ access_token: z.string(), expires_in: z.number() });

/** Claims of an assertion that a test overrides. */
export type Claims = Record<string, string | number>;

/** Requests a token with a signed assertion; returns the complete answer. */
export async function requestServiceAccountToken(
  keyFile: ServiceAccountKeyFile,
  claims: Claims = {},
  privateKey = keyFile.private_key,
): Promise<Response> {
  const now = Math.floor(Date.now() / 1000);
  const body = {
    iss: keyFile.client_email,
    scope: 'https://www.googleapis.com/auth/calendar',
    aud: keyFile.token_uri,
    iat: now,
    exp: now + 3600,
    ...claims,
  };
  const signed = [{ alg: 'RS256', typ: 'JWT', kid: keyFile.private_key_id }, body]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url');
  return fetch(keyFile.token_uri, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: `${signed}.${signature}`,
    }),
  });
}

/** A token answer; throws when the request is refused. */
export async function serviceAccountToken(
  keyFile: ServiceAccountKeyFile,
  claims: Claims = {},
): Promise<{ access_token: string; expires_in: number }> {
  const response = await requestServiceAccountToken(keyFile, claims);
  if (!response.ok) {
    throw new Error(`Token request refused: ${response.status} ${await response.text()}`);
  }
  return tokenAnswer.parse(await response.json());
}
