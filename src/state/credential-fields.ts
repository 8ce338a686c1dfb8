import type { Credential, CredentialStanding, TokenSet } from '../model/credentials.ts';
import { MirrorError } from '../model/errors.ts';
import type { Instant } from '../model/time.ts';
import { codeIn } from './forged.ts';
import type { Sealer } from './sealing.ts';

/** A credential as a Redis hash holds it; null is an empty text. */
export type CredentialFields = Record<string, string>;

/** The fields of a credential, its tokens sealed and bound to tenant, connection and version. */
export function encodeCredential(credential: Credential, sealer: Sealer, connection: string): CredentialFields {
  const { version, tokens } = credential;
  return {
    version: String(version),
    sealed: sealer.seal(JSON.stringify(tokens), sealContext(connection, String(version))),
    grantedScopes: credential.grantedScopes.join(' '),
    obtainedAt: String(credential.obtainedAt),
    refreshedAt: encodeInstant(credential.refreshedAt),
    accessExpiresAt: encodeInstant(credential.accessExpiresAt),
    refreshExpiresAt: encodeInstant(credential.refreshExpiresAt),
    // Whatever stood there before is of another login.
    isEndFixed: credential.isEndFixed === undefined ? '' : String(credential.isEndFixed),
    ...encodeStanding(credential),
  };
}

/** The fields that tell where a login stands. */
export function encodeStanding(standing: CredentialStanding): CredentialFields {
  return {
    state: standing.state,
    reason: standing.reason ?? '',
    since: String(standing.since),
    unansweredSince: encodeInstant(standing.unansweredSince),
    refusedAt: encodeInstant(standing.refusedAt ?? null),
  };
}

/** @throws MirrorError `contract` when the fields are not a credential, and what the sealer throws */
export function decodeCredential(fields: CredentialFields, sealer: Sealer, connection: string): Credential {
  const { version = '', sealed = '', grantedScopes = '', state, reason = '' } = fields;
  const tokens = JSON.parse(sealer.open(sealed, sealContext(connection, version))) as TokenSet;
  if (state !== 'connected' && state !== 'needs-login') throw unreadable();
  return {
    version: requireInstant(version),
    tokens,
    grantedScopes: grantedScopes === '' ? [] : grantedScopes.split(' '),
    obtainedAt: requireInstant(fields.obtainedAt),
    refreshedAt: decodeInstant(fields.refreshedAt),
    accessExpiresAt: decodeInstant(fields.accessExpiresAt),
    refreshExpiresAt: decodeInstant(fields.refreshExpiresAt),
    ...((fields.isEndFixed ?? '') === '' ? {} : { isEndFixed: fields.isEndFixed === 'true' }),
    state,
    reason: reason === '' ? null : codeIn(reason),
    since: requireInstant(fields.since),
    unansweredSince: decodeInstant(fields.unansweredSince),
    ...((fields.refusedAt ?? '') === '' ? {} : { refusedAt: decodeInstant(fields.refusedAt) }),
  };
}

function sealContext(connection: string, version: string): string {
  return `credential/${connection}/${version}`;
}

function encodeInstant(at: Instant | null): string {
  return at === null ? '' : String(at);
}

function decodeInstant(text: string | undefined): Instant | null {
  return text === undefined || text === '' ? null : requireInstant(text);
}

function requireInstant(text: string | undefined): Instant {
  const value = Number(text);
  if (text === undefined || text === '' || !Number.isFinite(value)) throw unreadable();
  return value;
}

function unreadable(): MirrorError {
  return new MirrorError('a stored credential is not readable', {
    actor: 'contract',
    code: 'credential-unreadable',
    retry: 'never',
  });
}
