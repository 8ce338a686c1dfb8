/** Names, help texts and labels of the gauges that the daemon exposes. docs/monitoring.md lists them. */

import { LINKS_COUNT } from '../../core/model/sync-state.ts';

const SYNC_HEALTH_LABELS = ['sync', 'health'] as const;

/** Gauges of each target: name and help text; the labels are tenant and target. */
export const TARGET_GAUGES = {
  age: [
    'clinic_mirror_target_age_seconds',
    'Time since the target last matched the clinic; absent before the first match',
  ],
  nearAge: [
    'clinic_mirror_target_next_48h_age_seconds',
    'Time since the next 48 hours of the clinic were last read and planned for the target; for a CRM, since all data was',
  ],
  lag: ['clinic_mirror_target_lag_seconds', 'Waiting time of the oldest due change; 0 if no change waits'],
  pending: ['clinic_mirror_target_pending', 'Planned changes that the target has not acknowledged yet'],
  failing: ['clinic_mirror_target_failed', 'Changes whose last attempt failed'],
  held: ['clinic_mirror_target_on_hold', 'Changes that wait for a decision on a hold'],
  unconfirmed: [
    'clinic_mirror_target_unconfirmed',
    "Records that are missing in the clinic's list and whose removal is not confirmed yet",
  ],
  links: ['clinic_mirror_target_links', LINKS_COUNT.description],
  ambiguous: [
    'clinic_mirror_target_ambiguous',
    'Objects with the owner tag of clinic-mirror that match no single record',
  ],
  edited: ['clinic_mirror_target_manual_edits', 'Objects that differ because of an edit by hand'],
  removed: ['clinic_mirror_target_manual_deletions', 'Objects that were deleted by hand and are not restored'],
  churning: [
    'clinic_mirror_target_repair_limit_reached',
    'Objects that the daemon no longer restores today, because it restored them too often',
  ],
  drifted: [
    'clinic_mirror_target_review_required',
    '1 while changes by hand require a decision (policy report, or restored too often today)',
  ],
  heard: [
    'clinic_mirror_target_notifications_active',
    '1 while the vendor sends notifications of changes, 0 while only polling finds changes',
  ],
  egressStopped: ['clinic_mirror_target_egress_stopped', 'Records that the privacy check on outgoing data stopped'],
  serverAway: [
    'clinic_mirror_target_server_outage',
    '1 while a server that the target or its clinic needs is unavailable',
  ],
  stopped: ['clinic_mirror_target_stopped', '1 while an error of the whole target stops all its changes'],
} as const;

/** Gauges of tenants, connections, servers and the installation. */
export const GAUGES = {
  tenantState: [
    'clinic_mirror_tenant_state',
    'Sync and health of all targets of a clinic together; always 1, one series for each clinic',
    ['tenant', ...SYNC_HEALTH_LABELS],
  ],
  targetState: [
    'clinic_mirror_target_state',
    'Sync and health of a target; always 1, one series for each target',
    ['tenant', 'target', ...SYNC_HEALTH_LABELS],
  ],
  outcomes: [
    'clinic_mirror_target_outcomes',
    'Changes that the target accepted since its state began: created, updated, deleted, adopted',
    ['tenant', 'target', 'effect'],
  ],
  tokenExpiry: [
    'clinic_mirror_token_expiry_seconds',
    'Time until the access token expires; the daemon refreshes the token before',
    ['tenant', 'connection'],
  ],
  needsLogin: [
    'clinic_mirror_needs_login',
    '1 while an administrator must log in or confirm the account',
    ['tenant', 'connection'],
  ],
  problems: [
    'clinic_mirror_problems',
    'Problems as in status --problems, by who must act and by code; an empty tenant means the installation',
    ['tenant', 'health', 'code'],
  ],
  serverAway: ['clinic_mirror_server_outage_seconds', 'Duration of the outage of a server that clinics need', ['host']],
  serverAwayClinics: [
    'clinic_mirror_server_outage_clinics',
    'Number of clinics that wait for an unavailable server',
    ['host'],
  ],
  serverAwayReportedAfter: [
    'clinic_mirror_server_outage_alert_after_seconds',
    'Outage duration after which alerts and the shipped rule report a server (alerts.outageAfterMinutes)',
    [],
  ],
  breaksIn: [
    'clinic_mirror_breaks_in_seconds',
    'Time until a predicted problem takes effect; negative if it already has',
    ['tenant', 'code'],
  ],
  unusable: [
    'clinic_mirror_records_skipped',
    'Records from the clinic that the last cycle could not use',
    ['tenant', 'code'],
  ],
  unread: [
    'clinic_mirror_values_unreadable',
    'Values that the last cycle could not read and left empty, by stream and field',
    ['tenant', 'field'],
  ],
  withheld: [
    'clinic_mirror_catalogue_not_permitted',
    '1 while the connection has no permission to read this part (agendas, locations, treatments, patients); events lack its texts',
    ['tenant', 'part'],
  ],
  superseded: [
    'clinic_mirror_configuration_superseded',
    '1 while another process has a newer configuration; this process then does no work for the tenant',
    ['tenant'],
  ],
  tenantRedisBytes: [
    'clinic_mirror_tenant_redis_bytes',
    'Memory of the tenant in Redis at the last count, at most an hour ago; absent if unknown',
    ['tenant'],
  ],
  lastRunFailed: ['clinic_mirror_last_cycle_failed', '1 if the last cycle ended early', ['tenant']],
  stateAge: ['clinic_mirror_state_age_seconds', 'Age of the metrics that are computed from the state', []],
} as const satisfies Record<string, readonly [name: string, help: string, labels: readonly string[]]>;
