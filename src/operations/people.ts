import { z } from 'zod';
import { requireTenant } from '../control/installation.ts';
import type { MatchView } from '../control/match.ts';
import { operation } from './operation.ts';
import { changed, id, instant, tenant } from './schemas.ts';

/** A sealed backup as text. */
const BACKUP_LIMIT_BYTES = 33_554_432;

const FORGET = 'forget <tenant> <patient>';
const MATCH = 'match <tenant> <target>';

const ofPatient = z.strictObject({ tenant, patient: id.describe('The id that the clinic gives') });
const reach = z.enum(['wholly', 'bin']);
const receipt = z.object({
  receipt: z.string(),
  tenant: z.string(),
  at: instant,
  tombstone: z.string(),
  upcoming: z.number(),
  targets: z.array(
    z.object({
      target: z.string(),
      connector: z.string(),
      found: z.number(),
      erased: z.number(),
      reach,
      waiting: z.number(),
      failed: z.number(),
      failure: z.string().nullable(),
    }),
  ),
  state: z.object({
    journalLines: z.number(),
    pins: z.number(),
    holds: z.number(),
    notes: z.number(),
    reminders: z.number(),
    answerLinks: z.number(),
    examples: z.number(),
  }),
  notes: z.array(z.string()),
});

/** Operations that cannot be taken back, or that protect people. */
export const PEOPLE_OPERATIONS = {
  previewForgetting: operation({
    summary: 'show in numbers what forgetting a patient would take away; writes nothing',
    level: 'owner',
    input: ofPatient,
    output: z.object({
      tenant: z.string(),
      isForgotten: z.boolean(),
      appointments: z.number(),
      invoices: z.number(),
      upcoming: z.number(),
      targets: z.array(
        z.object({ target: z.string(), connector: z.string(), linked: z.number(), toLookFor: z.number(), reach }),
      ),
      reminders: z.number(),
      answerLinks: z.number(),
      notes: z.array(z.string()),
    }),
    http: { method: 'POST', path: '/tenants/{tenant}/forget/preview', task: 'preview-forget' },
    commands: [
      {
        words: FORGET,
        about: 'take a patient out of every target and keep them out; shows what would go unless --yes',
        by: { flags: '--dry-run', about: 'only show what would go', isUsual: true },
      },
    ],
    async run({ tenant, patient }, { services, progress, signals }) {
      const { previewForgetting } = await import('../control/forget.ts');
      return previewForgetting(services.installation, tenant, patient, progress, signals.stop);
    },
  }),
  forgetPatient: operation({
    summary: 'take a patient out of every target and keep them out; again, it tells how that stands',
    level: 'owner',
    input: ofPatient,
    output: receipt,
    http: { method: 'POST', path: '/tenants/{tenant}/forget', task: 'forget' },
    commands: [{ words: FORGET, by: { flags: '--yes', about: 'do it' } }],
    audit: (input, { services: { installation }, acting }) => {
      const { id } = requireTenant(installation, input.tenant);
      const patient = acting.desk.keyed(id, input.patient);
      return {
        verb: 'forget',
        tenant: id,
        what: { patient },
        second: { subject: patient, isNeeded: (policy) => policy.forget },
      };
    },
    async run({ tenant, patient }, { services, progress, signals }) {
      const { forgetPatient } = await import('../control/forget.ts');
      return forgetPatient(services.installation, tenant, patient, progress, signals);
    },
    auditResult: ({ receipt, targets }) => ({
      receipt,
      erased: targets.reduce((sum, { erased }) => sum + erased, 0),
      waiting: targets.reduce((sum, { waiting, failed }) => sum + waiting + failed, 0),
    }),
    endsWithOne: { when: 'not all is erased yet', holds: ({ notes }) => notes.includes('erasures-wait') },
  }),
  followAgain: operation({
    summary: 'follow a forgotten patient again',
    level: 'owner',
    input: ofPatient,
    output: z.object({ tenant: z.string(), ...changed.shape }),
    http: { method: 'POST', path: '/tenants/{tenant}/follow-again' },
    commands: [{ words: FORGET, by: { flags: '--undo', about: 'follow the patient again' } }],
    audit: (input, { services: { installation }, acting }) => {
      const { id } = requireTenant(installation, input.tenant);
      return { verb: 'follow-again', tenant: id, what: { patient: acting.desk.keyed(id, input.patient) } };
    },
    async run({ tenant, patient }, { services }) {
      const { followAgain } = await import('../control/forget.ts');
      return followAgain(services.installation, tenant, patient);
    },
    auditResult: ({ changed }) => ({ changed }),
  }),
  listReceipts: operation({
    summary: 'list proofs that patients were forgotten, oldest first, with numbers alone',
    level: 'viewer',
    input: z.strictObject({ tenant }),
    output: z.object({ receipts: z.array(receipt) }),
    http: { method: 'GET', path: '/tenants/{tenant}/receipts' },
    commands: [{ words: 'receipts <tenant>', isList: true }],
    async run({ tenant }, { services }) {
      const { listReceipts } = await import('../control/forget.ts');
      return { receipts: await listReceipts(services.installation, tenant) };
    },
  }),
  backUp: operation({
    summary: 'make a sealed copy of what of a tenant can not be rebuilt',
    level: 'owner',
    input: z.strictObject({ tenant }),
    output: z.object({ backup: z.string() }),
    http: { method: 'POST', path: '/tenants/{tenant}/backup' },
    commands: [
      {
        words: 'credentials backup <tenant>',
        about: 'print, sealed: logins, tombstones, receipts, opt-outs, rejections, and what was put back by hand',
        isText: true,
      },
    ],
    audit: ({ tenant }, { services: { installation } }) => ({
      verb: 'backup',
      tenant: requireTenant(installation, tenant).id,
    }),
    async run({ tenant }, { services }) {
      return { backup: await (await services.backups()).backup(tenant) };
    },
  }),
  restore: operation({
    summary: 'restore what is missing of a backup; nothing that exists is replaced',
    level: 'owner',
    input: z.strictObject({ tenant, backup: z.string() }),
    output: z.object({
      restored: z.array(z.string()).describe('Logins'),
      kept: z.array(z.string()).describe('Logins that stay, since newer ones exist'),
      protections: z.number().describe('Tombstones, receipts and opt-outs'),
      pins: z.number(),
      rejections: z.number(),
      at: instant.describe('When the backup was made'),
    }),
    http: { method: 'POST', path: '/tenants/{tenant}/restore', bodyLimit: BACKUP_LIMIT_BYTES },
    commands: [
      {
        words: 'credentials restore <tenant> [file]',
        about: 'restore what a backup (a file, else standard input) holds and what is missing; nothing is replaced',
        reads: { field: 'backup', argument: 'file' },
      },
    ],
    // A managed tenant that is gone is added first, as it was: two entries of the audit log.
    audit: 'itself',
    async run({ tenant, backup }, { services, acting }) {
      const { restoreBackup } = await import('../control/backups.ts');
      return restoreBackup(acting, services.installation, await services.backups(), tenant, backup.trim());
    },
  }),
  acceptLoss: operation({
    summary: 'write and send of people again after the state was lost: nobody is known any more who must be kept out',
    level: 'owner',
    input: z.strictObject({ tenant }),
    output: z.object({ tenant: z.string(), ...changed.shape }),
    http: { method: 'POST', path: '/tenants/{tenant}/accept-loss' },
    commands: [{ words: 'accept-loss <tenant>' }],
    audit: ({ tenant }, { services: { installation } }) => ({
      verb: 'accept-loss',
      tenant: requireTenant(installation, tenant).id,
    }),
    async run({ tenant }, { services }) {
      const { acceptLoss } = await import('../control/backups.ts');
      return acceptLoss(services.installation, tenant);
    },
    auditResult: ({ changed }) => ({ changed }),
  }),
};

const ofTarget = { tenant, target: id };
const decided = z.object({
  tenant: z.string(),
  target: z.string(),
  approved: z.number(),
  done: z.number().describe('Contacts that were given to patients, or taken back from them'),
  already: z.number(),
  refused: z.array(z.object({ line: z.number(), record: z.string(), why: z.string() })),
});

/** How a file of pairs is carried out: the patients' data in it stay on the machine. */
function carryOut(verb: 'match' | 'unmatch', flags: string, about: string) {
  return operation({
    summary: about,
    level: 'operator',
    input: z.strictObject({ ...ofTarget, pairs: z.string().describe('The text of the file') }),
    output: decided,
    http: null,
    commands: [{ words: MATCH, by: { flags, about, file: 'pairs' } }],
    async audit({ tenant, target }, { services: { installation } }) {
      const { matchableTarget } = await import('../control/match.ts');
      const open = requireTenant(installation, tenant);
      return { verb, tenant: open.id, what: { target: matchableTarget(open, target).target.id } };
    },
    async run({ pairs, ...ids }, { services: { installation }, progress, signals }) {
      const { applyMatches, undoMatches } = await import('../control/match-apply.ts');
      const work = verb === 'match' ? applyMatches : undoMatches;
      return work(installation, ids, pairs, progress, signals.stop);
    },
    auditResult: ({ approved, done, already, refused }) => ({ approved, done, already, refused: refused.length }),
    endsWithOne: { when: 'something of the file was left as it is', holds: ({ refused }) => refused.length > 0 },
  });
}

/** Operations on contacts that were in a CRM before. */
export const MATCH_OPERATIONS = {
  proposeMatches: operation({
    summary: 'find contacts that were in a CRM before and look like patients; an administrator decides in a file',
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
      const { proposeMatches } = await import('../control/match.ts');
      return proposeMatches(installation, tenant, target, progress, signals.stop);
    },
  }),
  applyMatches: carryOut('match', '--apply <file>', 'give the contacts approved in it to their patients'),
  undoMatches: carryOut('unmatch', '--undo <file>', 'take them back: what a sync wrote into them stays'),
};
