import { generateKeyPairSync, type KeyObject, randomBytes, sign, verify } from 'node:crypto';
import { z } from 'zod';

/** An RSA key pair with its id. */
export interface SigningKey {
  keyId: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

/** A new RSA key pair of 2,048 bits. */
export function newSigningKey(): SigningKey {
  return { keyId: randomBytes(20).toString('hex'), ...generateKeyPairSync('rsa', { modulusLength: 2048 }) };
}

let shared: SigningKey | undefined;

/** The key that authorization servers of this process sign with: made once, with the first token, since making one takes a tenth of a second. */
export function sharedSigningKey(): SigningKey {
  shared ??= newSigningKey();
  return shared;
}

/** A JWT signed with RS256 (RFC 7515). */
export function signJwt(claims: object, key: SigningKey): string {
  const signed = `${encode({ alg: 'RS256', kid: key.keyId, typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key.privateKey).toString('base64url')}`;
}

/** A JWT taken apart and not yet trusted. */
export interface ReadJwt {
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
  /** True when the RS256 signature is this key's. */
  isSignedBy(publicKey: KeyObject): boolean;
}

/** Takes a JWT apart without trusting it; undefined when it isn't one. */
export function readJwt(jwt: string): ReadJwt | undefined {
  const [first = '', second = '', signature = '', ...rest] = jwt.split('.');
  const header = decode(first);
  const claims = decode(second);
  if (!header || !claims || rest.length > 0) return undefined;
  const signed = Buffer.from(`${first}.${second}`);
  return {
    header,
    claims,
    isSignedBy: (publicKey) =>
      header.alg === 'RS256' && verify('RSA-SHA256', signed, publicKey, Buffer.from(signature, 'base64url')),
  };
}

/** The key set that a discovery document points to (RFC 7517). */
export function toJwks({ publicKey, keyId }: SigningKey): object {
  return { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: keyId, alg: 'RS256', use: 'sig' }] };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function decode(part: string): Record<string, unknown> | undefined {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(Buffer.from(part, 'base64url').toString()));
  } catch {
    return undefined;
  }
}
