import type { Revocation } from '../control/logins.ts';
import type { OPERATIONS, OperationName } from '../features/operations.ts';
import type { InputOf, ResultOf } from '../operations/operation.ts';
import { renderTime } from './table.ts';

/** Renders the result of an operation for a terminal. */
export type OperationText<Result, Input> = (result: Result, input: Input & { file?: string }) => string;

type TextOf<Name extends OperationName> = OperationText<
  ResultOf<(typeof OPERATIONS)[Name]>,
  InputOf<(typeof OPERATIONS)[Name]>
>;

const REVOCATIONS: Readonly<Record<Revocation, string>> = {
  revoked: 'The provider has revoked it.',
  'not-supported': 'The provider offers no way to revoke it: do so in its own pages.',
  failed: 'The provider could not be asked to revoke it: do so in its own pages.',
  'nothing-to-revoke': 'There was no login.',
};

/** Results that fit in one sentence. */
export const OPERATION_SENTENCES: { [Name in OperationName]?: TextOf<Name> } = {
  acceptAccount: ({ tenant, connection, account }) =>
    `The account of ${connection} of ${tenant} is accepted: ${account}.`,
  logOut: ({ connection, revocation }) => `${REVOCATIONS[revocation]} The login of ${connection} is forgotten here.`,
  withdrawLoginLink: ({ link }) => `The link ${link} is good for nothing any more.`,
  exportConfiguration: ({ yaml }) => yaml.trimEnd(),
  addTenant: ({ tenant }) => `The tenant ${tenant} is added. Log in for it: clinic-mirror login ${tenant} clinic`,
  replaceConfiguration: ({ tenant }) => `The tenant ${tenant} is configured so from now on.`,
  adoptTenant: ({ tenant, file }) =>
    `The tenant ${tenant} is managed from now on. Remove ${file}: it does not count any more.`,
  makeSignInLink: ({ url }) => url,
  releaseAccount: () => 'The next account that signs in with this address gets its rule.',
  createAccessToken: ({ shown }) => shown,
  revokeAccessToken: ({ name }) => `The token ${name} is good for nothing any more.`,
};

/**
 * Functions that render results. Each operation with a command has a function here, a sentence or a document. Modules for rendering load on
 * first use.
 */
export const OPERATION_TEXTS: { [Name in OperationName]?: () => Promise<TextOf<Name>> } = {
  listLoginLinks: async () => (await import('./render-administration.ts')).renderLinks,
  listConfigurations: async () => (await import('./render-administration.ts')).renderSources,
  readConfiguration: async () => (await import('./render-administration.ts')).renderDocument,
  async checkConfiguration() {
    const { renderFaults } = await import('../settings/faults.ts');
    return ({ faults }) => (faults.length === 0 ? 'It has no faults.' : renderFaults(faults));
  },
  removeTenant: async () => (await import('./render-administration.ts')).renderRemoved,
  acceptTenants: async () => (await import('./render-administration.ts')).renderAccepted,
  listAccessTokens: async () => (await import('./render-administration.ts')).renderTokens,
  async readStatus() {
    const { renderStatus } = await import('./render-status.ts');
    return (view, { problems }) => renderStatus(view, { problemsOnly: problems });
  },
  readHealth: async () => (await import('./render-health.ts')).renderHealth,
  listDuplicates: async () => (await import('./render-audit.ts')).renderDuplicates,
  async applyPlan() {
    const { renderSync } = await import('./render-sync.ts');
    return (result) => renderSync(result, result.settings);
  },
  async syncTenant() {
    const { renderSync } = await import('./render-sync.ts');
    return (result) => renderSync(result, result.settings);
  },
  retryServer: async () => {
    return ({ host, clinics }) => {
      const who = clinics.length === 1 ? '1 clinic tries' : `${clinics.length} clinics try`;
      return `${who} ${host} now, if the daemon runs: ${clinics.join(', ')}`;
    };
  },
  auditTenant: async () => (await import('./render-audit.ts')).renderAudit,
  listChangingRuns: async () => (await import('./render-decisions.ts')).renderRuns,
  undoRun: async () => (await import('./render-decisions.ts')).renderUndo,
  releaseRun: async () => {
    return ({ released, tenant }) => `${released} items of ${tenant} go by the rules again.`;
  },
  listHolds: async () => (await import('./render-decisions.ts')).renderHolds,
  readHold: async () => (await import('./render-decisions.ts')).renderHold,
  decideHold: async () => (await import('./render-decisions.ts')).renderDecision,
  async listReminders() {
    const { renderReminders } = await import('./render-reminders.ts');
    return (list, { state }) =>
      renderReminders(list, state === 'upcoming' ? 'Nothing is planned.' : 'Nothing was sent or dropped yet.');
  },
  explainReminders: async () => (await import('./render-reminders.ts')).renderReminderExplanation,
  optOut: async () => {
    return ({ lift, changed }) => {
      if (!changed) return 'It was so already.';
      return lift ? 'The opt-out is lifted.' : 'The address is opted out.';
    };
  },
  reopenReminderChannel: async () => {
    return ({ channel, changed }) => `The channel ${channel} ${changed ? 'is used again' : 'was not closed'}.`;
  },
  listTriggers: async () => (await import('./render-triggers.ts')).renderTriggers,
  reopenTriggerEndpoint: async () => {
    return ({ endpoint, closed, skip }) => {
      const was = closed === null ? 'was not closed' : 'is used again';
      return `The endpoint ${endpoint} ${was}. ${skip ? 'What is there by now is not sent.' : 'What waits for it is tried now.'}`;
    };
  },
  async showAuditLog() {
    const { renderAuditLog } = await import('./render-audit-log.ts');
    return ({ entries, changed }) => renderAuditLog(entries, changed);
  },
  exportAuditLog:
    async () =>
    ({ lines }) =>
      lines.join('\n'),
  verifyAuditLog: async () => (await import('./render-audit-log.ts')).renderChainCheck,
  listFeeds: async () => (await import('./render-administration.ts')).renderFeeds,
  rotateFeed: async () => {
    return ({ url, hadOne }) => {
      const before = hadOne ? 'The previous address has ended.' : 'Whoever has it reads the calendar.';
      return `${url}\n\n${before} It is shown this once, and stored nowhere.`;
    };
  },
  withdrawFeed: async () => {
    return ({ target, hadOne }) =>
      `The feed ${target} ${hadOne ? 'ended. What calendars have fetched stays with them.' : 'had no address.'}`;
  },
  previewForgetting: async () => (await import('./render-decisions.ts')).renderForgetPreview,
  forgetPatient: async () => (await import('./render-decisions.ts')).renderReceipt,
  followAgain: async () => {
    return ({ changed }) => (changed ? 'The patient is followed again.' : 'There was no tombstone.');
  },
  listReceipts: async () => (await import('./render-decisions.ts')).renderReceipts,
  backUp: async () => {
    return ({ backup }) => backup;
  },
  restore: async () => (await import('./backup-commands.ts')).renderRestored,
  acceptLoss: async () => {
    return ({ changed }) =>
      changed ? 'What waited of people goes with the next cycle.' : 'Nothing was lost that had to be accepted.';
  },
  async proposeMatches() {
    const { renderMatches } = await import('./render-decisions.ts');
    return ({ view }, { file }) => renderMatches(view, file ?? null);
  },
  async applyMatches() {
    const { renderMatchResult } = await import('./render-decisions.ts');
    return (result) => renderMatchResult(result, 'apply');
  },
  async undoMatches() {
    const { renderMatchResult } = await import('./render-decisions.ts');
    return (result) => renderMatchResult(result, 'undo');
  },
};

/** Remarks on standard error, because standard output may be a file or a program; an empty text prints nothing. */
export const OPERATION_REMARKS: { [Name in OperationName]?: TextOf<Name> } = {
  exportConfiguration: ({ file, variables }) =>
    variables.length === 0 ? '' : `Set before ${file} is read: ${variables.join(', ')}.\n`,
  makeSignInLink: () => 'Open this address in a browser within ten minutes. It signs the owner in, once.\n',
  createAccessToken: ({ token: { endsAt } }) =>
    `Good until ${renderTime(endsAt)}. A program shows it so: Authorization: Bearer <token>\n`,
};
