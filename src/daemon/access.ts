import { createHttpClient } from '../core/http/client.ts';
import type { Clock } from '../core/model/time.ts';
import { message, render } from '../messages/message.ts';
import { administratorsProvider } from '../oauth/providers.ts';
import { type AuthorizationServer, createAuthorizationServer } from '../oauth/server.ts';
import { type AccessServices, isPassphraseMissing, type SignInLink } from '../operator/control/access.ts';
import {
  createAccessCounts,
  createAccessTokenStore,
  createAccountRegistry,
  createPassphraseStore,
  createSessionStore,
} from '../operator/control/access-stores.ts';
import { controlKeys } from '../operator/control/keys.ts';
import { createLoginStore } from '../operator/control/login-stores.ts';
import type { OidcSettings } from '../settings/access-schema.ts';
import { createAccessSealer } from '../state/sealing.ts';
import { principalOfDaemon } from './acts.ts';
import type { Composition } from './compose.ts';
import { sealingRing } from './stores.ts';

/**
 * Opens the access services of administrators.
 * @param publicUrl public URL of the operators' port; default: from the settings
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
    links: createLoginStore<SignInLink>(redis, ring, controlKeys.signInLink),
    ...createAccessCounts(redis, (who) => acts.keyed('', who)),
    sealer,
    tenants: () => [...composition.configuration.outlines.keys(), ...composition.configuration.unchecked],
    acts,
    clock,
  };
}

/** Returns the public URL of the operators' port. @param port the actual port; null if unknown. @returns null if unknown */
export function publicUrlOf(composition: Composition, port: number | null): string | null {
  const { operator } = composition.configuration.settings;
  const taken = port ?? (operator.port === 0 ? null : operator.port);
  return operator.publicUrl ?? (taken === null ? null : `http://localhost:${taken}`);
}

/**
 * Shows the first sign-in link to the operator who started the daemon. The log, which is stored and collected, only mentions that a link
 * exists. A failure does not stop the daemon.
 * @param show shows a text to the operator
 */
export async function announceFirstSignIn(
  { acts, log }: Composition,
  access: AccessServices,
  show: (text: string) => void,
): Promise<void> {
  try {
    if (!(await isPassphraseMissing(access))) return;
    const { makeSignInLink } = await import('../operator/control/access.ts');
    const { url } = await makeSignInLink(
      { who: principalOfDaemon(), why: 'first start', actServices: acts },
      access,
      true,
    );
    show(`${render(message('start.sign-in'))}\n\n${url}\n`);
    log.warn({}, 'no administrator can sign in yet: to show the sign-in URL again, run clinic-mirror access sign-in');
  } catch (error) {
    log.error({ error }, 'no administrator can sign in yet, and the sign-in URL could not be shown');
  }
}

/** Reuses a server while its settings are unchanged, because the server caches its metadata. */
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
