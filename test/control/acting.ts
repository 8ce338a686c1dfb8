import { createHash } from 'node:crypto';
import type { Acting } from '../../src/control/recording.ts';
import type { AuditDraft, AuditEntry, Principal } from '../../src/model/acts.ts';
import type { ApprovalSettings } from '../../src/settings/access-schema.ts';
import type { AuditLog } from '../../src/state/audit-log.ts';
import type { ApprovalStore } from '../../src/state/stored-documents.ts';
import { NOW } from '../sync/arbitraries.ts';

/** One person is enough. */
export const ONE_PERSON: ApprovalSettings = {
  holdsAbove: undefined,
  forget: false,
  restore: false,
  configuration: false,
  expireAfterHours: 24,
  persons: 'system',
};

/** A person at the machine. */
export function person(name: string, claimed: string | null = null): Principal {
  return { kind: 'os-user', name, id: `login:${name}`, claimed };
}

/** What a test chooses of who acts. */
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

/** Somebody who acts, and what was recorded of it. */
export function openActing(choice: ActingChoice = {}): Acting & { recorded: AuditDraft[] } {
  const recorded: AuditDraft[] = [];
  const noStore: ApprovalStore = { list: async () => [], put: async () => {}, take: async () => false };
  const log = choice.log === undefined ? inMemory(recorded) : choice.log;
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

function inMemory(recorded: AuditDraft[]): AuditLog {
  return {
    async append(draft) {
      const sequence = recorded.push(draft);
      return {
        ...draft,
        chain: '0001-memory',
        sequence,
        at: new Date(NOW).toISOString(),
        previous: null,
      } as AuditEntry;
    },
    async *read() {},
    async *readBack() {},
    verify: async () => ({ chains: [], faults: [] }),
  };
}
