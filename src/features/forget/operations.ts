import { z } from 'zod';
import { requireTenant } from '../../control/installation.ts';
import { operation } from '../../operations/operation.ts';
import { changed, id, instant, tenant } from '../../operations/schemas.ts';

const FORGET = 'forget <tenant> <patient>';

const ofPatient = z.strictObject({ tenant, patient: id.describe('Patient id in the clinic system') });
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
    auditFindings: z.number(),
    reminders: z.number(),
    answerLinks: z.number(),
    examples: z.number(),
  }),
  warnings: z.array(z.string()),
});

/** Operations that exclude a patient from all targets. */
export const FORGET_OPERATIONS = {
  previewForgetting: operation({
    summary: 'show the number of objects that forget would delete; writes nothing',
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
      warnings: z.array(z.string()),
    }),
    http: { method: 'POST', path: '/tenants/{tenant}/forget/preview', task: 'preview-forget' },
    commands: [
      {
        words: FORGET,
        about: 'delete a patient from every target and exclude the patient; without --yes only a preview',
        by: { flags: '--dry-run', about: 'only show the preview', isUsual: true },
      },
    ],
    async run({ tenant, patient }, { services, progress, signals }) {
      const { previewForgetting } = await import('./forget.ts');
      return previewForgetting(services.installation, tenant, patient, { progress, signal: signals.stop });
    },
  }),
  forgetPatient: operation({
    summary: 'delete a patient from every target and exclude the patient; repeat the request to see the progress',
    level: 'owner',
    input: ofPatient,
    output: receipt,
    http: { method: 'POST', path: '/tenants/{tenant}/forget', task: 'forget' },
    commands: [{ words: FORGET, by: { flags: '--yes', about: 'start the deletion' } }],
    audit: (input, { services: { installation }, acting }) => {
      const { id } = requireTenant(installation, input.tenant);
      const patient = acting.actServices.keyed(id, input.patient);
      return {
        verb: 'forget',
        tenant: id,
        what: { patient },
        second: { subject: patient, isNeeded: (policy) => policy.forget },
      };
    },
    async run({ tenant, patient }, { services, progress, signals }) {
      const { forgetPatient } = await import('./forget.ts');
      return forgetPatient(services.installation, tenant, patient, { progress, signals });
    },
    auditResult: ({ receipt, targets }) => ({
      receipt,
      erased: targets.reduce((sum, { erased }) => sum + erased, 0),
      waiting: targets.reduce((sum, { waiting, failed }) => sum + waiting + failed, 0),
    }),
    endsWithOne: { when: 'the erasure is not complete', holds: ({ warnings }) => warnings.includes('erasures-wait') },
  }),
  followAgain: operation({
    summary: 'sync a forgotten patient again',
    level: 'owner',
    input: ofPatient,
    output: z.object({ tenant: z.string(), ...changed.shape }),
    http: { method: 'POST', path: '/tenants/{tenant}/follow-again' },
    commands: [{ words: FORGET, by: { flags: '--undo', about: 'sync the patient again' } }],
    audit: (input, { services: { installation }, acting }) => {
      const { id } = requireTenant(installation, input.tenant);
      return { verb: 'follow-again', tenant: id, what: { patient: acting.actServices.keyed(id, input.patient) } };
    },
    async run({ tenant, patient }, { services }) {
      const { followAgain } = await import('./forget.ts');
      return followAgain(services.installation, tenant, patient);
    },
    auditResult: ({ changed }) => ({ changed }),
  }),
  listReceipts: operation({
    summary: 'list receipts of forgotten patients, oldest first; numbers only',
    level: 'viewer',
    input: z.strictObject({ tenant }),
    output: z.object({ receipts: z.array(receipt) }),
    http: { method: 'GET', path: '/tenants/{tenant}/receipts' },
    commands: [{ words: 'receipts <tenant>', isList: true }],
    async run({ tenant }, { services }) {
      const { listReceipts } = await import('./forget.ts');
      return { receipts: await listReceipts(services.installation, tenant) };
    },
  }),
};
