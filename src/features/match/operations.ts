import { z } from 'zod';
import { id, optionalTarget, tenant } from '../../core/model/schemas.ts';
import { requireTenant } from '../../operator/control/installation.ts';
import { operation } from '../../operator/operations/operation.ts';
import type { MatchView } from './propose.ts';
import { decided, duplicates } from './schemas.ts';

const MATCH = 'match <tenant> <target>';

const ofTarget = { tenant, target: id };

/** Returns an operation on a pair file. The file's patient data remains on the host. */
function carryOut({ verb, flags, about }: { verb: 'match' | 'unmatch'; flags: string; about: string }) {
  return operation({
    summary: about,
    level: 'operator',
    input: z.strictObject({ ...ofTarget, pairs: z.string().describe('Content of the file') }),
    output: decided,
    http: null,
    commands: [{ words: MATCH, by: { flags, about, file: 'pairs' } }],
    async audit({ tenant, target }, { services: { installation } }) {
      const { matchableTarget } = await import('./propose.ts');
      const open = requireTenant(installation, tenant);
      return { verb, tenant: open.id, what: { target: matchableTarget(open, target).target.id } };
    },
    async run({ pairs, ...ids }, { services: { installation }, progress, signals }) {
      const { applyMatches, undoMatches } = await import('./apply.ts');
      const work = verb === 'match' ? applyMatches : undoMatches;
      return work(installation, ids, pairs, { progress, signal: signals.stop });
    },
    auditResult: ({ approved, done, already, refused }) => ({ approved, done, already, refused: refused.length }),
    endsWithOne: { when: 'some pairs of the file were not changed', holds: ({ refused }) => refused.length > 0 },
  });
}

/** Operations on existing contacts of a CRM. */
export const MATCH_OPERATIONS = {
  proposeMatches: operation({
    summary: 'find CRM contacts similar to patients; an administrator decides in a file',
    level: 'operator',
    input: z.strictObject(ofTarget),
    output: z.object({ view: z.custom<MatchView>() }).transform(({ view }) => view),
    http: null,
    commands: [
      {
        words: MATCH,
        writes: {
          flags: '--out <file>',
          about: 'write the pairs, with patient data, to a new file',
          of: (found) => (found as { file: string }).file,
        },
      },
    ],
    async run({ tenant, target }, { services: { installation }, progress, signals }) {
      const { proposeMatches } = await import('./propose.ts');
      return proposeMatches(installation, { tenant, target }, { progress, signal: signals.stop });
    },
  }),
  applyMatches: carryOut({
    verb: 'match',
    flags: '--apply <file>',
    about: 'link the approved contacts of this file to their patients',
  }),
  undoMatches: carryOut({
    verb: 'unmatch',
    flags: '--undo <file>',
    about: 'unlink the contacts of this file; synced values remain',
  }),
  listDuplicates: operation({
    summary:
      'list probable duplicate contacts: copies, similar contacts, and contacts without an e-mail address because another contact has it; reads the clinic and the contacts',
    level: 'viewer',
    input: z.strictObject({ tenant, target: optionalTarget }),
    output: duplicates,
    http: null,
    commands: [{ words: 'duplicates <tenant> [target]', isList: true }],
    async run({ tenant, target }, { services: { installation }, progress, signals }) {
      const { tenantDuplicates } = await import('./duplicates.ts');
      return tenantDuplicates(installation, tenant, { target, progress }, signals.stop);
    },
  }),
};
