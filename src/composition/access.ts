import { type AccessServices, isPassphraseMissing, type SignInLink } from '../control/access.ts';
import { createHttpClient } from '../http/client.ts';
import { message, render } from '../messages/message.ts';
import type { Clock } from '../model/time.ts';
import { administratorsProvider } from '../oauth/providers.ts';
import { type AuthorizationServer, createAuthorizationServer } from '../oauth/server.ts';
import type { OidcSettings } from '../settings/access-schema.ts';
import {
  createAccessCounts,
  createAccessTokenStore,
  createAccountRegistry,
  createPassphraseStore,
  createSessionStore,
} from '../state/access.ts';
import { keys } from '../state/keys.ts';
import { createLoginStore } from '../state/logins.ts';
import { createAccessSealer } from '../state/sealing.ts';
import { principalOfDaemon } from './acts.ts';
import type { Composition } from './compose.ts';
import { sealingRing } from './stores.ts';

/**
 * What administrators are let in with.
 * @param publicUrl how browsers reach the port for operators; default: as the settings tell
 */
export function openAccess(composition: Composition, publicUrl?: () => string): AccessServices {
  const { redis, acts, installation } = composition;
  const { clock } = installation;
  const { secrets } = composition.configuration.settings;
  const sealer = createAccessSealer(secrets.identityKey.reveal());
  const ring = sealingRing({ secrets });
  return {
    settings: () => composition.configuration.settings.operator.access ?? null,
    publicUrl: publicUrl ?? (() => publicUrlOf(composition, null)),
    serverOf: createServers(clock),
    sessions: createSessionStore(redis, sealer, clock),
    accounts: createAccountRegistry(redis, sealer),
    tokens: createAccessTokenStore(redis, sealer, clock),
    passphrase: createPassphraseStore(redis, sealer),
    links: createLoginStore<SignInLink>(redis, ring, keys.signInLink),
    ...createAccessCounts(redis, (who) => acts.keyed('', who)),
    sealer,
    tenants: () => [...composition.configuration.outlines.keys(), ...composition.configuration.unchecked],
    acts,
    clock,
  };
}

/** How browsers reach the port for operators. @param port that was taken; null where it is not known. @returns null where it can't be told */
export function publicUrlOf(composition: Composition, port: number | null): string | null {
  const { operator } = composition.configuration.settings;
  const taken = port ?? (operator.port === 0 ? null : operator.port);
  return operator.publicUrl ?? (taken === null ? null : `http://localhost:${taken}`);
}

/**
 * Tells whoever started the daemon where the owner signs in for the first time. The address is for their eyes alone: the log, which is kept and
 * collected, tells that there is one. A daemon that can't tell runs all the same.
 * @param show shows a text to whoever started the daemon
 */
export async function announceFirstSignIn(
  { acts, log }: Composition,
  access: AccessServices,
  show: (text: string) => void,
): Promise<void> {
  try {
    if (!(await isPassphraseMissing(access))) return;
    const { makeSignInLink } = await import('../control/access.ts');
    const { url } = await makeSignInLink(
      { who: principalOfDaemon(), why: 'first start', actServices: acts },
      access,
      true,
    );
    show(`${render(message('start.sign-in'))}\n\n${url}\n`);
    log.warn({}, 'nobody can sign in yet: where to, was shown once; shown again by: clinic-mirror access sign-in');
  } catch (error) {
    log.error({ error }, 'nobody can sign in yet, and where to could not be shown');
  }
}

/** One server for as long as the settings of it are the same: what it told of itself is kept with it. */
function createServers(clock: Clock): (oidc: OidcSettings) => AuthorizationServer {
  const http = createHttpClient({ userAgent: 'clinic-mirror', clock });
  let cached: { oidc: OidcSettings; server: AuthorizationServer } | null = null;
  return (oidc) => {
    if (cached?.oidc !== oidc) {
      const { issuer, clientId, clientSecret } = oidc;
      const provider = administratorsProvider({ issuer, clientId, clientSecret: clientSecret?.reveal() ?? null });
      cached = { oidc, server: createAuthorizationServer({ provider, http, clock }) };
    }
    return cached.server;
  };
}
