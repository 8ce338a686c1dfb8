import { generateKeyPair, type JsonWebKey } from 'node:crypto';
import { promisify } from 'node:util';

let key: Promise<JsonWebKey> | undefined;

/** The private RSA key that signs identity tokens, made once per process because making one is slow. */
export function signingKey(): Promise<JsonWebKey> {
  key ??= promisify(generateKeyPair)('rsa', { modulusLength: 2048 }).then(({ privateKey }) => ({
    ...privateKey.export({ format: 'jwk' }),
    use: 'sig',
    kid: 'sandbox',
  }));
  return key;
}
