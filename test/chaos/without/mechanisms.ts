import { readFile } from 'node:fs/promises';
import type { DefectKind } from '../judge/tally.ts';

/** A text of a module that is read otherwise. */
export interface Rewrite {
  /** Below `src/`; a script of Redis too. */
  module: string;
  find: string;
  replace: string;
}

/** A safety that a test can remove from the daemons. */
export interface Safety {
  /** Defects that the safety prevents; other defects prove nothing about it. */
  prevents: readonly DefectKind[];
  /** Text replacements that remove the safety. The texts equal those of the modules exactly. */
  rewrites: readonly Rewrite[];
}

/** Safeties by their names on the command line. */
export const MECHANISMS: Readonly<Record<string, Safety>> = {
  fencing: {
    prevents: ['wrong', 'duplicates', 'falseInSync'],
    rewrites: [
      {
        module: 'state/scripts/fence.lua',
        find: "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('FENCED') end",
        replace: '',
      },
    ],
  },
  'lease-deadline': {
    prevents: ['duplicates', 'wrong'],
    rewrites: [
      {
        module: 'state/leases.ts',
        find: 'if (!isReleased && (life.over.aborted || performance.now() >= deadlineAt)) lose();',
        replace: '',
      },
      {
        module: 'state/leases.ts',
        find: 'deadline = setTimeout(lose, Math.max(0, deadlineAt - performance.now())).unref();',
        replace: '',
      },
      {
        module: 'state/leases.ts',
        find: "over.addEventListener('abort', lose);",
        replace: '',
      },
    ],
  },
  // The operator's own look may note that the state went back: the daemons don't hear of it.
  epoch: {
    prevents: ['doubleReminders'],
    rewrites: [
      {
        module: 'state/scripts/state-counter-advance.lua',
        find: 'if counter < mark or isDamaged then',
        replace: 'if false then',
      },
      {
        module: 'state/scripts/state-counter-advance.lua',
        find: "wentBackAt or '0', wentBackTo, isLost}",
        replace: "'0', '0', 0}",
      },
    ],
  },
  // Earlier behaviour: a read that waits too long gives up and loses the pages already read. The time is a hundredth of the original,
  // because the budget of the scarce world is a hundred times a real one.
  reservation: {
    prevents: ['missing', 'falseInSync'],
    rewrites: [
      {
        module: 'state/budget.ts',
        find: "if (priority === 'interactive' && waitedMs + waitMs > LONGEST_INTERACTIVE_WAIT_MS) throw exhausted(waitMs);",
        replace: 'if (waitedMs + waitMs > 120) throw exhausted(waitMs);',
      },
    ],
  },
  guard: {
    prevents: ['unjustifiedDeletes'],
    rewrites: [
      {
        module: 'engine/guard.ts',
        find: 'return removals > count && removals > held * share;',
        replace: 'return false;',
      },
      {
        module: 'engine/guard.ts',
        find: 'return share < 0.5 && removals >= HALF_FROM && removals * 2 >= held;',
        replace: 'return false;',
      },
    ],
  },
  confirmation: {
    prevents: ['unjustifiedDeletes'],
    rewrites: [
      {
        module: 'engine/confirm.ts',
        find: '(isDue(id) ? confirmation.vanished : confirmation.missedOnce).add(id);',
        replace: 'confirmation.vanished.add(id);',
      },
    ],
  },
  'own-keys': {
    prevents: ['duplicates'],
    rewrites: [
      {
        module: 'engine/identity.ts',
        find: 'nameHash(JSON.stringify([form.stream, recordId, idAttempt]),',
        replace: 'nameHash(JSON.stringify([form.stream, recordId, idAttempt, Math.random()]),',
      },
    ],
  },
  'names-decide': {
    prevents: ['duplicates', 'missing', 'wrong', 'falseInSync', 'unjustifiedDeletes'],
    rewrites: [
      {
        module: 'connectors/labels.ts',
        find: 'if (!isMarked && (isTag(labels.ownerTag) || named === null)) return null;',
        replace: 'if (!isMarked) return null;',
      },
    ],
  },
  'more-told': {
    prevents: ['unjustifiedDeletes', 'falseInSync'],
    rewrites: [
      {
        module: 'clinic/http/paging.ts',
        find: 'return anySign(page, { rows: progress.rows, pages: progress.pages }, paging.ignoredPaths);',
        replace: 'return null;',
      },
    ],
  },
  'prove-writes': {
    prevents: ['falseInSync'],
    rewrites: [
      {
        module: 'state/redis.ts',
        find: "Promise.all([proveWrites(client), client.set(keys.daemonSeen(), '1', 'PX', DAEMON_SEEN_LIFE_MS)]),",
        replace: 'client.ping(),',
      },
      {
        module: 'state/redis.ts',
        find: "await Promise.all(shards.map((shard) => client.set(keys.probe(shard), '1', 'PX', PROBE_LIFE_MS)));",
        replace: 'await Promise.all(shards.map(() => client.ping()));',
      },
    ],
  },
  'emptying-nothing': {
    prevents: ['wrong', 'unjustifiedDeletes'],
    rewrites: [
      { module: 'domain/read-alone.ts', find: 'if (alone.size === 0) return rule;', replace: 'return rule;' },
      {
        module: 'domain/read-alone.ts',
        find: "if (!('found' in answer) || !isNameless(answer.found)) return answer;",
        replace: 'return answer;',
      },
      { module: 'domain/crm-rules.ts', find: 'if (!isRefused && isAlone())', replace: 'if (false)' },
    ],
  },
  merges: {
    prevents: ['duplicates', 'wrong', 'missing', 'falseInSync'],
    rewrites: [
      {
        module: 'clinic/read/catalogue-rows.ts',
        find: "if (typeof merged !== 'string') return map;",
        replace: 'return map;',
      },
      {
        module: 'clinic/read/reading.ts',
        find: 'if (location === null || profile === null || profile.patients.merged !== status) return null;',
        replace: 'return null;',
      },
    ],
  },
  unscheduled: {
    prevents: ['duplicates', 'falseInSync'],
    rewrites: [
      {
        module: 'clinic/read/empty-starts.ts',
        find: 'if (!emptyStartMeansUnscheduled) return map;',
        replace: 'return map;',
      },
    ],
  },
  completeness: {
    prevents: ['unjustifiedDeletes', 'falseInSync'],
    rewrites: [
      {
        module: 'clinic/read/snapshot.ts',
        find: 'return reason === null ?',
        replace: 'return reason !== undefined ?',
      },
    ],
  },
};

/** One of the safeties. */
export type Mechanism = string;

/** @throws Error that names the module whose text has changed, because such a trial would remove nothing */
export async function checkRewrites(mechanism: Mechanism): Promise<void> {
  for (const { module, find } of MECHANISMS[mechanism]?.rewrites ?? []) {
    const source = await readFile(new URL(`../../../src/${module}`, import.meta.url), 'utf8');
    if (source.split(find).length !== 2) {
      throw new Error(
        `src/${module} no longer contains the code that "--without ${mechanism}" removes: correct test/chaos/without`,
      );
    }
  }
}
