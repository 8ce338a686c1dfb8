import { caldav } from '../../connectors/caldav/index.ts';
import { SharedState } from '../../connectors/shared-state.ts';
import { createHttpClient } from '../../core/http/client.ts';
import { silentLogger } from '../../core/log/logger.ts';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import { SECOND_MS } from '../../core/model/time.ts';
import { message, type Text } from '../../messages/message.ts';
import { abandonable, createBasicAuthorizer } from '../../oauth/authorizer.ts';
import { oauthErrorCode } from '../../oauth/errors.ts';
import { clinicProvider, googleProvider, microsoftProvider, type Provider } from '../../oauth/providers.ts';
import { createAuthorizationServer } from '../../oauth/server.ts';
import { unprotected } from '../../settings/redis-schema.ts';
import { connectRedis } from '../../state/redis.ts';
import { checkRedis, requireRights } from '../../state/redis-check.ts';

/** A client registration of an authorization server, in the form of the settings. */
export type ClientValues =
  | { kind: 'clinic'; authUrl: string; clientId: string; clientSecret: string | null; discovery?: boolean }
  | { kind: 'google'; issuer?: string; clientId: string; clientSecret: string | null }
  | { kind: 'microsoft'; authority?: string; clientId: string; clientSecret: string | null };

/** A connection to a CalDAV server. */
export interface CaldavValues {
  server: string;
  username: string;
  password: string;
}

/**
 * Tests values of a new configuration with their servers, before the values are stored. Each test throws a {@link MirrorError} for a
 * refused value.
 */
export interface ValueTests {
  redis(url: string): Promise<void>;
  client(values: ClientValues): Promise<void>;
  caldav(values: CaldavValues): Promise<void>;
}

/** An administrator waits for each test. */
const DEADLINE_MS = 10 * SECOND_MS;
const MICROSOFT = 'https://login.microsoftonline.com';
/** An invalid token: a server that accepts the client refuses only the token (RFC 6749 section 5.2). */
const NO_TOKEN = 'clinic-mirror-tests-the-client-alone';

/** Opens the tests. No test writes data, and each ends after ten seconds. */
export function openValueTests(interrupted: AbortSignal): ValueTests {
  const http = createHttpClient({ userAgent: 'clinic-mirror', clock: Date.now, timeoutMs: DEADLINE_MS });
  const within = async (test: (signal: AbortSignal) => Promise<unknown>): Promise<void> => {
    const deadline = AbortSignal.timeout(DEADLINE_MS);
    const signal = AbortSignal.any([interrupted, deadline]);
    await abandonable(test(signal), signal).catch((error: unknown) => {
      throw deadline.aborted && !interrupted.aborted ? noAnswer(error) : error;
    });
  };
  return {
    redis: (url) => within((signal) => testRedis(url, signal)),
    client: (values) =>
      within(async (signal) => {
        const server = createAuthorizationServer({ provider: providerOf(values), http, clock: Date.now });
        await server.refresh(NO_TOKEN, signal).catch((error: unknown) => {
          const { actor } = asMirrorError(error);
          const isAccepted = oauthErrorCode(error) !== null && (actor === 'authorization' || actor === 'contract');
          if (!isAccepted) throw error;
        });
      }),
    caldav: (values) =>
      within(async (signal) => {
        const { server, username, password } = values;
        const settings = caldav.settingsSchema.safeParse({ server, calendar: { home: 'discover', create: '-' } });
        if (!settings.success) throw unusable(message('caldav.server'), message('caldav.server.remedy'));
        const connector = caldav.open({
          settings: settings.data,
          ownerTag: '0'.repeat(16),
          authorizer: createBasicAuthorizer('caldav', username, password),
          ...{ http, shared: new SharedState(), log: silentLogger, clock: Date.now },
        });
        await connector.prepare(null, { creates: false }, signal);
      }),
  };
}

async function testRedis(url: string, signal: AbortSignal): Promise<void> {
  const ways = { sentinels: [], cluster: [], hasPassword: false, hasSentinelPassword: false, tls: false };
  const [lack] = unprotected({ url, ...ways, isPrivateNetwork: false });
  if (lack !== undefined) throw unusable(lack.fault, lack.remedy);
  const client = connectRedis(url);
  // An administrator waits: the first failed connection is the answer, although the client would retry.
  const failed = new AbortController();
  client.once('error', (error) => failed.abort(error));
  try {
    await checkRedis(client, AbortSignal.any([signal, failed.signal]));
    await requireRights(client);
  } finally {
    client.disconnect();
  }
}

function providerOf(values: ClientValues): Provider {
  switch (values.kind) {
    case 'clinic':
      return clinicProvider(values);
    case 'google':
      return googleProvider(values);
    case 'microsoft':
      return microsoftProvider({ ...values, authority: values.authority ?? MICROSOFT, directory: 'organizations' });
  }
}

function unusable(what: Text, remedy: Text): MirrorError {
  return new MirrorError(message('value-unusable', { what }), {
    actor: 'settings',
    code: 'value-unusable',
    retry: 'never',
    remedy,
  });
}

function noAnswer(cause: unknown): MirrorError {
  return new MirrorError(message('answer-timeout'), {
    ...{ actor: 'remote', code: 'value-unanswered', retry: 'later', cause },
    remedy: message('answer-timeout.remedy'),
  });
}
