import type { KeptPlan, PlanView } from '../model/kept-plan.ts';
import type { InputOf, ResultOf } from '../operations/operation.ts';
import type { OPERATIONS, OperationName } from '../operations/operations.ts';

/** Renders what an operation answered for a terminal. */
export type OperationText<Result, Input> = (result: Result, input: Input) => string;

type Texts = {
  [Name in OperationName]?: () => Promise<
    OperationText<ResultOf<(typeof OPERATIONS)[Name]>, InputOf<(typeof OPERATIONS)[Name]>>
  >;
};

/** How the command line shows what operations answer; each operation with a command has one. What a text takes to render is loaded when it is rendered. */
export const OPERATION_TEXTS: Texts = {
  async readStatus() {
    const { renderStatus } = await import('./render-status.ts');
    return (view, { problems }) => renderStatus(view, { problemsOnly: problems });
  },
  explainAppointment: async () => (await import('./render-explain.ts')).renderExplanation,
  readHealth: async () => (await import('./render-health.ts')).renderHealth,
  listDuplicates: async () => (await import('./render-duplicates.ts')).renderDuplicates,
  async planTenant() {
    const { renderKeptPlan, renderPlan } = await import('./render-plan.ts');
    return (plan) => (isKept(plan) ? renderKeptPlan(plan) : renderPlan(plan));
  },
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
  listChangingRuns: async () => (await import('./render-undo.ts')).renderRuns,
  undoRun: async () => (await import('./render-undo.ts')).renderUndo,
  releaseRun: async () => {
    return ({ released, tenant }) => `${released} items of ${tenant} go by the rules again.`;
  },
  listHolds: async () => (await import('./render-holds.ts')).renderHolds,
  readHold: async () => (await import('./render-holds.ts')).renderHold,
  decideHold: async () => (await import('./render-holds.ts')).renderDecision,
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
  verifyAuditLog: async () => (await import('./render-audit-log.ts')).renderVerdict,
  listFeeds: async () => (await import('./render-feeds.ts')).renderFeeds,
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
};

function isKept(plan: PlanView | KeptPlan): plan is KeptPlan {
  return 'expiresAt' in plan;
}
