import type { Redis } from 'ioredis';
import type { AccessServices, SignedIn, SignInLink } from '../../src/control/access.ts';
import type { AccessLevel } from '../../src/model/acts.ts';
import type { AuthorizationServer } from '../../src/oauth/server.ts';
import { type AccessSettings, accessSection } from '../../src/settings/access-schema.ts';
import { secretSchemas } from '../../src/settings/secret-reference.ts';
import {
  createAccessCounts,
  createAccessTokenStore,
  createAccountRegistry,
  createPassphraseStore,
  createSessionStore,
} from '../../src/state/access.ts';
import { keys } from '../../src/state/keys.ts';
import { createLoginStore } from '../../src/state/logins.ts';
import { createAccessSealer } from '../../src/state/sealing.ts';
import { RING, TENANT } from '../oauth/connection.ts';
import { NOW } from '../sync/arbitraries.ts';
import { openActing } from './acting.ts';

/** What a guess costs by intent would take seconds of a busy machine. */
const CHEAP = { N: 16, r: 8, p: 1 };

/** The settings of `operator.access`, as they are written. */
export function accessSettings(written: object = {}): AccessSettings {
  return accessSection(secretSchemas({ env: { CLIENT_SECRET: 'shh-client' }, dir: '/nowhere' })).parse(written);
}

/** What a test chooses of how administrators are let in. */
export interface AccessChoice {
  access?: AccessSettings | null;
  publicUrl?: string | null;
  tenants?: readonly string[];
  server?: AuthorizationServer;
}

/** How administrators are let in, on a real Redis, with a clock that the test moves and settings that it changes. */
export function openAccessWorld(redis: Redis, choice: AccessChoice = {}) {
  const { publicUrl = 'https://mirror.test', tenants = [TENANT, 'studio-bianchi'] } = choice;
  const state = { now: NOW, access: choice.access === undefined ? accessSettings() : choice.access };
  const sealer = createAccessSealer(Buffer.alloc(32, 7));
  const clock = () => state.now;
  const { actServices: acts, recorded } = openActing({ clock });
  const desk: AccessServices = {
    settings: () => state.access,
    publicUrl: () => publicUrl,
    serverOf: () => {
      if (choice.server !== undefined) return choice.server;
      throw new Error('not in this test');
    },
    sessions: createSessionStore<SignedIn>(redis, sealer, clock),
    accounts: createAccountRegistry(redis, sealer),
    tokens: createAccessTokenStore(redis, sealer, clock),
    passphrase: createPassphraseStore(redis, sealer, CHEAP),
    links: createLoginStore<SignInLink>(redis, RING, keys.signInLink),
    ...createAccessCounts(redis, (who) => acts.keyed('', who)),
    sealer,
    tenants: () => tenants,
    acts,
    clock,
  };
  return {
    desk,
    state,
    recorded,
    /** A token of this name and level. @returns what its holder shows */
    async token(name: string, level: AccessLevel = 'viewer', of: readonly string[] | null = null): Promise<string> {
      const made = { name, level, tenants: of, by: 'anna', madeAt: state.now, endsAt: state.now + 86_400_000 };
      return (await desk.tokens.make(made)) ?? '';
    },
  };
}
