import { z } from 'zod';
import { ACT_VERBS } from '../model/acts.ts';
import { wholeNumber } from './common-schemas.ts';

const holdsAbove = wholeNumber(0)
  .optional()
  .describe('A hold of more items than this is approved by two persons; without it one is enough');

/** The log of what persons do, in `dataDirectory`. */
export const auditLog = z
  .strictObject({
    keepMonths: wholeNumber(1, 1_200).default(60).describe('How long entries are kept, at least'),
    reasonFor: z
      .array(z.enum(ACT_VERBS))
      .default([])
      .describe('What is done only with a reason (`--reason`), by the words of the audit log'),
  })
  .prefault({});

/** What two persons have to want. */
export const approvals = z
  .strictObject({
    holdsAbove,
    forget: z.boolean().default(false).describe('Forgetting a patient needs a second person'),
    restore: z.boolean().default(false).describe('Restoring a backup needs a second person'),
    configuration: z
      .boolean()
      .default(false)
      .describe('Adding, changing and removing a managed tenant needs a second person'),
    expireAfterHours: wholeNumber(1, 720).default(24).describe('The second person has this long'),
    persons: z
      .enum(['system', 'named'])
      .default('system')
      .describe(
        'What tells persons apart: the login at the machine, or the name that they give (`--as`), which nobody checks; for containers, where all are one user',
      ),
  })
  .prefault({});

/** A tenant's own, beside those of the settings: it can ask for more, never for less. */
export const tenantApprovals = z.strictObject({
  holdsAbove,
  forget: z.literal(true).optional().describe('Forgetting a patient of this clinic needs a second person'),
  restore: z.literal(true).optional().describe('Restoring a backup of this clinic needs a second person'),
  configuration: z
    .literal(true)
    .optional()
    .describe('Changing and removing this clinic, where it is managed, needs a second person'),
});

/** What two persons have to want, and for how long the first is remembered. */
export type ApprovalSettings = z.output<typeof approvals>;

/** The stricter of both, one by one. */
export function strictestApprovals(
  all: ApprovalSettings,
  own: z.output<typeof tenantApprovals> | undefined,
): ApprovalSettings {
  const limits = [all.holdsAbove, own?.holdsAbove].filter((limit) => limit !== undefined);
  return {
    ...all,
    holdsAbove: limits.length === 0 ? undefined : Math.min(...limits),
    forget: all.forget || own?.forget === true,
    restore: all.restore || own?.restore === true,
    configuration: all.configuration || own?.configuration === true,
  };
}

/** A tenant's own rules for two persons, as far as a document that may have faults tells them. */
const documentApprovals = z
  .object({ approvals: tenantApprovals.partial().catch({}).default({}) })
  .catch({ approvals: {} });

/** The stricter of both, where a tenant's own rules stand in a document of it, which may have faults. */
export function approvalsWith(all: ApprovalSettings, document: unknown): ApprovalSettings {
  return strictestApprovals(all, documentApprovals.parse(document).approvals);
}

/** Whether one person alone could do more under the next document of a tenant than under the one before. @param next null: it is removed */
export function loosensApprovals(before: unknown, next: unknown): boolean {
  const [{ approvals: earlier }, { approvals: later }] = [
    documentApprovals.parse(before),
    documentApprovals.parse(next),
  ];
  const isOff = (['forget', 'restore', 'configuration'] as const).some((rule) => earlier[rule] && !later[rule]);
  if (isOff || earlier.holdsAbove === undefined) return isOff;
  return later.holdsAbove === undefined || later.holdsAbove > earlier.holdsAbove;
}
