import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { AccessLevel, AuditDraft, AuditEntry, Principal } from '../../../src/core/model/acts.ts';
import type { AuthorizationServer } from '../../../src/oauth/server.ts';
import type { AccessServices, SignedIn, SignInLink } from '../../../src/operator/control/access.ts';
import {
  createAccessCounts,
  createAccessTokenStore,
  createAccountRegistry,
  createPassphraseStore,
  createSessionStore,
} from '../../../src/operator/control/access-stores.ts';
import type { AuditLog } from '../../../src/operator/control/audit-log.ts';
import { controlKeys } from '../../../src/operator/control/keys.ts';
import { createLoginStore } from '../../../src/operator/control/login-stores.ts';
import type { Acting } from '../../../src/operator/control/recording.ts';
import { type AccessSettings, type ApprovalSettings, accessSection } from '../../../src/settings/access-schema.ts';
import { secretSchemas } from '../../../src/settings/secret-reference.ts';
import { createAccessSealer } from '../../../src/state/sealing.ts';
import type { ApprovalStore } from '../../../src/state/stored-documents.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { RING, TENANT } from '../../oauth/connection.ts';

/** One person is enough. */
export const ONE_PERSON: ApprovalSettings = {
  holdsAbove: undefined,
  forget: false,
  restore: false,
  configuration: false,
  expireAfterHours: 24,
  persons: 'system',
};

/** Returns a user of the host's operating system. */
export function person(name: string, claimed: string | null = null): Principal {
  return { kind: 'os-user', name, id: `login:${name}`, claimed };
}

/** Options of the acting user. */
export interface ActingChoice {
  who?: Principal;
  why?: string | null;
  policy?: Partial<ApprovalSettings>;
  store?: ApprovalStore;
  reasonFor?: Acting['actServices']['reasonFor'];
  /** Default: one that keeps drafts in memory. */
  log?: AuditLog | null;
  clock?: () => number;
}

/** Opens a user's actions, with the recorded drafts. */
export function openActing(choice: ActingChoice = {}): Acting & { recorded: AuditDraft[] } {
  const recorded: AuditDraft[] = [];
  const noStore: ApprovalStore = { list: async () => [], put: async () => {}, take: async () => false };
  const log = choice.log === undefined ? auditLogInMemory(recorded) : choice.log;
  return {
    who: choice.who ?? person('anna'),
    why: choice.why ?? null,
    recorded,
    actServices: {
      log,
      announce: (draft) => void recorded.push(draft),
      reasonFor: choice.reasonFor ?? [],
      approvalsOf: () => ({ policy: { ...ONE_PERSON, ...choice.policy }, store: choice.store ?? noStore }),
      keyed: (tenant, id) => createHash('sha256').update(`${tenant} ${id}`).digest('base64url').slice(0, 22),
      clock: choice.clock ?? (() => NOW),
    },
  };
}

/** Creates an in-memory audit log. @param drafts receives each record as given */
export function auditLogInMemory(drafts: AuditDraft[] = []): AuditLog & { entries: AuditEntry[] } {
  const entries: AuditEntry[] = [];
  return {
    entries,
    async append(draft) {
      drafts.push(draft);
      const at = new Date(NOW + entries.length * 1_000).toISOString();
      const entry = { ...draft, chain: '0001-memory', sequence: entries.length + 1, at, previous: null };
      entries.push(entry);
      return entry;
    },
    trim: async () => 0,
    async *read() {
      for (const entry of entries) yield { line: JSON.stringify(entry), entry };
    },
    async *readBack(before) {
      const older = entries.filter(({ sequence }) => before === null || sequence < before.sequence).toReversed();
      for (const entry of older) {
        yield { chain: entry.chain, sequence: entry.sequence, line: JSON.stringify(entry), entry };
      }
    },
    verify: async () => ({ chains: [], faults: [] }),
  };
}

/** Cheap parameters: the intended cost of a guess would take seconds on a busy host. */
const CHEAP = { N: 16, r: 8, p: 1 };

/** Parses settings of `operator.access`. */
export function accessSettings(written: object = {}): AccessSettings {
  return accessSection(secretSchemas({ env: { CLIENT_SECRET: 'shh-client' }, dir: '/nowhere' })).parse(written);
}

/** Options of administrators' access. */
export interface AccessChoice {
  access?: AccessSettings | null;
  publicUrl?: string | null;
  tenants?: readonly string[];
  server?: AuthorizationServer;
}

/** Opens administrators' access on a real Redis, with a clock and settings that the test changes. */
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
    links: createLoginStore<SignInLink>(redis, RING, controlKeys.signInLink),
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
    /** Creates a token of this name and level. @returns the secret that its holder sends */
    async token(name: string, level: AccessLevel = 'viewer', of: string[] | null = null): Promise<string> {
      const made = { name, level, tenants: of, by: 'anna', madeAt: state.now, endsAt: state.now + 86_400_000 };
      return (await desk.tokens.make(made)) ?? '';
    },
  };
}
