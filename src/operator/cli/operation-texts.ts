import { toJson } from '../../core/model/schemas.ts';
import type { OPERATIONS, OperationName } from '../../features/operations.ts';
import type { Revocation } from '../control/logins.ts';
import type { InputOf, ResultOf } from '../operations/operation.ts';
import { renderTime } from './table.ts';

/** Renders the result of an operation for a terminal. */
export type OperationText<Result, Input> = (result: Result, input: Input & { file?: string }) => string;

type TextOf<Name extends OperationName> = OperationText<
  ResultOf<(typeof OPERATIONS)[Name]>,
  InputOf<(typeof OPERATIONS)[Name]>
>;

const REVOCATIONS: Readonly<Record<Revocation, string>> = {
  revoked: 'The provider revoked the connection.',
  'not-supported': "The provider has no revocation service: revoke access in the provider's account settings.",
  failed: "Cannot revoke the connection with the provider: revoke access in the provider's account settings.",
  'nothing-to-revoke': 'No connection existed.',
};

/** Results that fit in one sentence. */
export const OPERATION_SENTENCES: { [Name in OperationName]?: TextOf<Name> } = {
  acceptAccount: ({ tenant, connection, account }) => `Account confirmed for ${connection} of ${tenant}: ${account}.`,
  logOut: ({ connection, revocation }) => `${REVOCATIONS[revocation]} The stored tokens of ${connection} are deleted.`,
  withdrawLoginLink: ({ link }) => `Link ${link} is withdrawn.`,
  exportConfiguration: ({ yaml }) => yaml.trimEnd(),
  addTenant: ({ tenant }) => `Tenant ${tenant} is added. Connect the clinic: clinic-mirror login ${tenant} clinic`,
  replaceConfiguration: ({ tenant }) => `The new configuration of tenant ${tenant} is active.`,
  adoptTenant: ({ tenant, file }) =>
    `Tenant ${tenant} is now managed. Remove ${file}: clinic-mirror ignores this file.`,
  makeSignInLink: ({ url }) => url,
  releaseAccount: () => 'The next account that signs in with this e-mail address gets its access rule.',
  createAccessToken: ({ shown }) => shown,
  revokeAccessToken: ({ name }) => `Token ${name} is revoked.`,
  endSessions: ({ ended }) => `${ended} ${ended === 1 ? 'session' : 'sessions'} ended.`,
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
    const { renderFaults } = await import('../../settings/faults.ts');
    return ({ faults }) => (faults.length === 0 ? 'No faults found.' : renderFaults(faults));
  },
  removeTenant: async () => (await import('./render-administration.ts')).renderRemoved,
  acceptTenants: async () => (await import('./render-administration.ts')).renderAccepted,
  listAccessTokens: async () => (await import('./render-administration.ts')).renderTokens,
  listSessions: async () => (await import('./render-administration.ts')).renderSessions,
  async readStatus() {
    const { renderStatus } = await import('./render-status.ts');
    return (view, { problems }) => renderStatus(view, { problemsOnly: problems });
  },
  async readHistory() {
    const { renderHistory } = await import('./render-history.ts');
    return (view, { target, days }) => renderHistory(view, { isOfOne: target !== undefined, days });
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
    return ({ host, tenants }) => {
      const who = tenants.length === 1 ? '1 tenant retries' : `${tenants.length} tenants retry`;
      return `${who} ${host} now, if the daemon runs: ${tenants.join(', ')}`;
    };
  },
  auditTenant: async () => (await import('./render-audit.ts')).renderAudit,
  listChangingRuns: async () => (await import('./render-decisions.ts')).renderRuns,
  undoRun: async () => (await import('./render-decisions.ts')).renderUndo,
  releaseRun: async () => {
    return ({ released, tenant }) => `Rules apply again to ${released} objects of ${tenant}.`;
  },
  listHolds: async () => (await import('./render-decisions.ts')).renderHolds,
  readHold: async () => (await import('./render-decisions.ts')).renderHold,
  decideHold: async () => (await import('./render-decisions.ts')).renderDecision,
  async listReminders() {
    const { renderReminders } = await import('./render-reminders.ts');
    return (list, { state }) =>
      renderReminders(list, state === 'upcoming' ? 'No reminders are planned.' : 'No reminders were sent or dropped.');
  },
  explainReminders: async () => (await import('./render-reminders.ts')).renderReminderExplanation,
  optOut: async () => {
    return ({ lift, changed }) => {
      if (!changed) return 'Nothing changed.';
      return lift ? 'The opt-out is removed.' : 'The opt-out is saved.';
    };
  },
  endReply: async () => {
    return ({ changed }) => (changed ? 'The reply is deleted.' : 'Nothing changed.');
  },
  reopenReminderChannel: async () => {
    return ({ channel, changed }) => `Channel ${channel} ${changed ? 'is open again' : 'was not closed'}.`;
  },
  listTriggers: async () => (await import('./render-triggers.ts')).renderTriggers,
  reopenTriggerEndpoint: async () => {
    return ({ endpoint, closed, skip }) => {
      const was = closed === null ? 'was not closed' : 'is open again';
      return `Endpoint ${endpoint} ${was}. ${skip ? 'Pending messages are dropped.' : 'The daemon sends pending messages now.'}`;
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
      const before = hadOne ? 'The previous URL is revoked.' : 'Anyone with this URL can read the calendar.';
      return `${url}\n\n${before} The URL is shown only once and is not stored.`;
    };
  },
  withdrawFeed: async () => {
    return ({ target, hadOne }) =>
      `Feed ${target} ${hadOne ? 'is withdrawn. Calendars keep events that they fetched earlier.' : 'had no URL.'}`;
  },
  async exportPatient() {
    const { stringify } = await import('yaml');
    return (found, { file }) =>
      file === undefined ? stringify(JSON.parse(toJson(found))).trimEnd() : `${file} contains patient data.`;
  },
  previewForgetting: async () => (await import('./render-decisions.ts')).renderForgetPreview,
  forgetPatient: async () => (await import('./render-decisions.ts')).renderReceipt,
  followAgain: async () => {
    return ({ changed }) => (changed ? 'The patient is synced again.' : 'The patient was not forgotten.');
  },
  listReceipts: async () => (await import('./render-decisions.ts')).renderReceipts,
  backUp: async () => {
    return ({ backup }) => backup;
  },
  restore: async () => (await import('./backup-commands.ts')).renderRestored,
  acceptLoss: async () => {
    return ({ changed }) => (changed ? 'The next cycle sends pending patient data.' : 'No loss was recorded.');
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
  makeSignInLink: () => 'Open this URL in a browser within ten minutes. The URL signs in the owner, once.\n',
  createAccessToken: ({ token: { endsAt } }) =>
    `Valid until ${renderTime(endsAt)}. API header: Authorization: Bearer <token>\n`,
};
