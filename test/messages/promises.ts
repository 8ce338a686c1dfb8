/** A command that texts propose, what the texts promise of it, and the test that shows that this happens. */
export interface Promised {
  /** Words after `clinic-mirror`, `<x>` for each value. */
  command: string;
  /** Codes of the sentences, or source files, that propose it for this. */
  by: readonly string[];
  effect: string;
  /** File and title of the test. */
  shownBy: readonly [file: string, title: string];
}

const UNKNOWN_NAMES = [
  'test/operator/cli/proposed-commands.test.ts',
  'shows the name that the refused command then accepts: %s',
] as const;
const MANAGED = [
  'test/e2e/managed-tenants.test.ts',
  'a managed tenant: added over the API, synced, applied by all daemons, changed, exported, removed, added again, converted to a file',
] as const;
const ACCOUNT = [
  'test/attacks/account-unconfirmed.test.ts',
  'receives nothing, every page shows the account, and an operator decides',
] as const;
const HOLD = [
  'test/e2e/guard.test.ts',
  'too many vanished appointments wait for an operator while other changes continue; after approval they are removed',
] as const;
const MATCH = [
  'test/e2e/crm-matching.test.ts',
  'a %s that has eight of twenty patients is matched by an operator, without duplicates',
] as const;
const UNDO = [
  'test/e2e/undo.test.ts',
  'one command restores a calendar that a wrong filter emptied, and the calendar stays until it is released',
] as const;
const BACKUP = [
  'test/e2e/proposed-commands.test.ts',
  'a file that is no backup of all tenants is restored, or replaced, by the proposed commands',
] as const;
const FAULTS = [
  'test/e2e/proposed-commands.test.ts',
  'a tenant with faults runs again after the proposed check has named the line, and its correction',
] as const;
const PLANS = [
  'test/e2e/plan-and-explain.test.ts',
  'a plan shows what a cycle would do and writes nothing anywhere',
] as const;
const NEW_PLAN = [
  'test/operator/cli/proposed-commands.test.ts',
  'a plan that no longer fits, or is not stored, is replaced by the saved plan, which is applied',
] as const;
const SPEC = [
  'test/e2e/clinic-commands.test.ts',
  'the unedited profile that check-spec proposes for another dialect brings the calendars in sync',
] as const;
const CLINIC = [
  'test/e2e/clinic-commands.test.ts',
  'the clinic commands use the tenant’s own connection, and a proposed profile serves the next sync',
] as const;
const FIRST_CALENDAR = [
  'test/e2e/first-calendar.test.ts',
  'leads to a calendar in sync with the clinic; after an interruption it continues without overwriting',
] as const;

/** Every proposed command. A test compares the list with the sentences and the sources. */
export const PROMISES: readonly Promised[] = [
  {
    command: 'why <x>',
    by: ['no-such-code.similar', 'src/operator/cli/check-commands.ts'],
    effect: 'Explains the code.',
    shownBy: [
      'test/operator/cli/why-command.test.ts',
      'a code is explained without a configuration, in at most 100 columns',
    ],
  },
  {
    command: 'accept-account <x> <x> <x>',
    by: ['src/operator/control/problems.ts', 'src/operator/cli/login-command.ts', 'src/oauth/accounts.ts'],
    effect: 'the connection is used, and its targets are written',
    shownBy: ACCOUNT,
  },
  {
    command: 'accept-account',
    by: ['src/operator/cli/render-status.ts'],
    effect: 'the connection is used, and its targets are written',
    shownBy: ACCOUNT,
  },
  {
    command: 'accept-loss <x>',
    by: [
      'src/operator/control/installation-problems.ts',
      'src/operator/control/problems.ts',
      'src/operator/cli/render-status.ts',
    ],
    effect: 'patient data is written again, and the problem is gone',
    shownBy: [
      'test/e2e/restore.test.ts',
      'without a backup an operator forgets the known patients again, and accepts the loss of the rest',
    ],
  },
  {
    command: 'access release-account <x>',
    by: ['account-changed.remedy'],
    effect: 'the new account of the e-mail address signs in',
    shownBy: [
      'test/operator/http-server/access/sign-in.test.ts',
      'an e-mail address stays with the account that used it first, and never changes an identity',
    ],
  },
  {
    command: 'access sign-in',
    by: ['passphrase-wrong.remedy', 'sign-in-too-often.remedy', 'src/operator/http-server/access/sign-in.ts'],
    effect: 'a link signs the owner in and sets another passphrase',
    shownBy: [
      'test/operator/cli/proposed-commands.test.ts',
      'the link that a host makes after %s sets another passphrase',
    ],
  },
  {
    command: 'access token list',
    by: ['no-such-token.remedy'],
    effect: 'shows the name that the refused command accepts',
    shownBy: UNKNOWN_NAMES,
  },
  {
    command: 'access token revoke <x>',
    by: ['token-name-taken.remedy'],
    effect: 'the name is free for another token, and the former token is not valid',
    shownBy: [
      'test/operator/cli/proposed-commands.test.ts',
      'the revoking of a token whose name is taken frees the name',
    ],
  },
  {
    command: 'apply <x> <x>',
    by: ['src/operator/documents/plan.ts'],
    effect: 'the changes of the plan are written',
    shownBy: NEW_PLAN,
  },
  {
    command: 'audit <x>',
    by: ['src/operator/control/target-problems.ts'],
    effect: 'shows the changes by hand',
    shownBy: [
      'test/operator/control/audit.test.ts',
      'an audit on demand reports each target by its policy, and requests the cycle that restores',
    ],
  },
  {
    command: 'audit <x>',
    by: ['src/operator/cli/render-status.ts'],
    effect: 'copies of events are removed',
    shownBy: [
      'test/tenant/surplus.test.ts',
      'copies of events with our marks are removed by the audit, and no other event is (%s)',
    ],
  },
  {
    command: 'audit-log show<x>',
    by: ['src/operator/http-server/pages/activity.ts'],
    effect: 'shows the same actions',
    shownBy: [
      'test/operator/cli/render-audit-log.test.ts',
      'shows action, operator and result in a row, and the reason on the next line',
    ],
  },
  {
    command: 'changes <x> <x> --day <x>',
    by: ['src/operator/http-server/pages/history/history-page.ts'],
    effect: 'shows the same changes of the day',
    shownBy: [
      'test/operator/documents/changes.test.ts',
      'a moved appointment has its times before and after, in lines of at most 100 characters',
    ],
  },
  {
    command: 'history <x><x> --days <x>',
    by: ['src/operator/http-server/pages/history/history-page.ts'],
    effect: 'shows the same figures',
    shownBy: [
      'test/operator/cli/render-history.test.ts',
      'targets have one line each, with a bar per hour and a dot without a proof, within 100 columns',
    ],
  },
  {
    command: 'audit-log verify',
    by: ['src/operator/cli/render-audit-log.ts'],
    effect: 'reports whether the records were changed',
    shownBy: [
      'test/e2e/audit-log.test.ts',
      'a daemon and commands record actions, users and reasons in one chain; a key rotation is applied at the next start',
    ],
  },
  {
    command: 'backup --all all-tenants',
    by: ['src/operator/http-server/pages/installation-facts.ts'],
    effect: 'writes a file that can be restored',
    shownBy: BACKUP,
  },
  {
    command: 'backup --all',
    by: ['backup-unknown.remedy'],
    effect: 'writes a file that can be restored',
    shownBy: BACKUP,
  },
  {
    command: 'check-spec',
    by: ['probe-exhausted.remedy', 'probe-refused.remedy', 'probe-too-few.remedy'],
    effect: 'proposes a profile from the OpenAPI document',
    shownBy: SPEC,
  },
  {
    command: 'clinic <x> <x>',
    by: ['src/operator/control/clinic-input.ts'],
    effect: 'lists records with their ids',
    shownBy: CLINIC,
  },
  {
    command: 'clinic probe <x>',
    by: ['no-agendas.remedy'],
    effect: 'shows the answers of the clinic',
    shownBy: CLINIC,
  },
  {
    command: 'config check',
    by: [
      ...['first-remedy-check', 'mapping.all-templates', 'tenant-faulty.remedy', 'src/command-line.ts'],
      'src/operator/control/problems.ts',
      ...['src/operator/cli/render-administration.ts', 'src/operator/cli/render-status.ts'],
    ],
    effect: 'names each fault with its line, and succeeds after the correction',
    shownBy: FAULTS,
  },
  { command: 'credentials restore', by: ['backup-unknown.remedy'], effect: 'restores one tenant', shownBy: BACKUP },
  {
    command: 'doctor <x>',
    by: ['src/operator/control/forecasts.ts'],
    effect: 'renews the resting connection, or shows why not',
    shownBy: [
      'test/e2e/proposed-commands.test.ts',
      'the check that is proposed for a resting connection renews it, or shows why not and the command that replaces it',
    ],
  },
  {
    command: 'explain <x> <x>',
    by: ['src/operator/http-server/pages/explain/explain-page.ts'],
    effect: 'shows the state of the appointment in each target',
    shownBy: [
      'test/e2e/plan-and-explain.test.ts',
      'explain shows why an appointment is shown, removed, held or failing',
    ],
  },
  {
    command: 'feeds rotate <x> <x>',
    by: ['src/operator/cli/render-status.ts'],
    effect: 'the feed has a URL',
    shownBy: [
      'test/e2e/proposed-commands.test.ts',
      'the command for a feed without a URL prints one, and the status shows it',
    ],
  },
  {
    command: 'health <x> <x>',
    by: [
      'src/operator/control/forecasts.ts',
      'src/operator/control/target-problems.ts',
      'src/operator/documents/plan.ts',
      'src/operator/http-server/pages/clinic/target.ts',
    ],
    effect: 'lists failing and pending records with their reasons',
    shownBy: [
      'test/operator/control/health.test.ts',
      'health shows synchronized targets, exclusions with their reasons, and failures with begin and next try',
    ],
  },
  {
    command: 'health <x> <x>',
    by: ['src/operator/cli/render-status.ts'],
    effect: 'lists copies of contacts',
    shownBy: [
      'test/tenant/refusals.test.ts',
      'is listed in health, and removed with the record when consent is withdrawn',
    ],
  },
  {
    command: 'holds approve <x> <x> --seen <x>',
    by: ['src/operator/cli/render-decisions.ts', 'src/operator/http-server/pages/holds/render-hold.ts'],
    effect: 'the held changes are written',
    shownBy: ['test/operator/cli/program.test.ts', 'is decided by the command that the list shows: %s'],
  },
  {
    command: 'holds reject <x> <x> --seen <x>',
    by: ['src/operator/cli/render-decisions.ts'],
    effect: 'the held changes are dropped',
    shownBy: ['test/operator/cli/program.test.ts', 'is decided by the command that the list shows: %s'],
  },
  {
    command: 'holds list',
    by: ['no-such-hold.remedy'],
    effect: 'shows the id that the refused command accepts',
    shownBy: UNKNOWN_NAMES,
  },
  {
    command: 'holds list <x>',
    by: ['no-such-hold.of-tenant.remedy'],
    effect: 'shows the id that the refused command accepts',
    shownBy: UNKNOWN_NAMES,
  },
  {
    command: 'holds list <x>',
    by: [
      'src/operator/cli/render-sync.ts',
      'src/operator/control/problems.ts',
      'src/operator/control/target-problems.ts',
      'src/operator/documents/plan.ts',
    ],
    effect: 'shows the hold and the command that decides it',
    shownBy: HOLD,
  },
  {
    command: 'init',
    by: ['settings.no-settings.remedy', 'src/operator/http-server/pages/overview.ts'],
    effect: 'creates the settings and a tenant, whose calendar can be synchronised',
    shownBy: FIRST_CALENDAR,
  },
  {
    command: 'login <x> <x>',
    by: [
      ...[
        'src/operator/control/problems.ts',
        'src/oauth/accounts.ts',
        'src/oauth/error-classes.ts',
        'src/oauth/errors.ts',
      ],
      ...[
        'src/operator/control/findings.ts',
        'src/oauth/providers.ts',
        'src/operator/http-server/pages/clinic/connection.ts',
      ],
    ],
    effect: 'the connection is set up, and its targets are written',
    shownBy: [
      'test/e2e/crm-logins.test.ts',
      'connections of CRMs are created, shown, refreshed and revoked by the command line',
    ],
  },
  {
    command: 'login <x> <x>',
    by: ['src/operator/control/forecasts.ts'],
    effect: 'the connection begins a new life',
    shownBy: [
      'test/e2e/crm-logins.test.ts',
      'connections of CRMs are created, shown, refreshed and revoked by the command line',
    ],
  },
  {
    command: 'login <x> <x>',
    by: ['src/operator/control/target-problems.ts'],
    effect: 'the permissions of the user are read again',
    shownBy: [
      'test/e2e/users-and-scopes.test.ts',
      'a sign-in refreshes the permissions of the user; cycles without one keep them',
    ],
  },
  {
    command: 'login <x> <x>',
    by: ['src/setup/init/initialise.ts'],
    effect: 'connects a calendar that init left out',
    shownBy: [
      'test/e2e/microsoft-logins.test.ts',
      'a user signs in to Microsoft by a code on another device, and the calendar is synced',
    ],
  },
  {
    command: 'login <x> clinic',
    by: ['src/operator/cli/operation-texts.ts'],
    effect: 'connects the clinic',
    shownBy: [
      'test/operator/cli/login-command.test.ts',
      'a sign-in without a connection id connects the clinic, exits with 0 and shows the account',
    ],
  },
  {
    command: 'logins links list <x>',
    by: ['no-such-link.remedy'],
    effect: 'shows the id that the refused command accepts',
    shownBy: UNKNOWN_NAMES,
  },
  {
    command: 'logins links withdraw <x> <x>',
    by: ['src/operator/cli/login-command.ts'],
    effect: 'the link is withdrawn',
    shownBy: UNKNOWN_NAMES,
  },
  {
    command: 'match <x> <x>',
    by: ['src/operator/cli/render-decisions.ts', 'src/operator/documents/plan.ts'],
    effect: 'contacts of patients are linked, and no second contact is created',
    shownBy: MATCH,
  },
  { command: 'plan', by: ['document-too-large.remedy'], effect: 'shows the plan without storing it', shownBy: PLANS },
  {
    command: 'plan <x>',
    by: ['src/setup/init/initialise.ts'],
    effect: 'shows the changes of the first cycle',
    shownBy: PLANS,
  },
  {
    command: 'plan <x> --save',
    by: ['no-such-plan.remedy', 'plan-drifted.remedy'],
    effect: 'stores a plan that can be applied',
    shownBy: NEW_PLAN,
  },
  {
    command: 'reminders answered <x> <x>',
    by: ['src/features/reminders/replies.ts'],
    effect: 'the reply is deleted, and the problem is gone',
    shownBy: [
      'test/features/reminders/callbacks.test.ts',
      'reaches the desk once: status, alert and list, and stops no reminder',
    ],
  },
  {
    command: 'reminders explain <x> <x>',
    by: ['src/operator/control/problems.ts'],
    effect: 'shows each message about the appointment',
    shownBy: [
      'test/e2e/reminder-journeys.test.ts',
      'what is booked, moved, cancelled, opted out and answered, from the clinic to the phone and back',
    ],
  },
  {
    command: 'reminders reopen <x> <x>',
    by: ['src/operator/cli/render-status.ts', 'src/operator/control/problems.ts'],
    effect: 'the channel sends again, and the problem is gone',
    shownBy: ['test/e2e/reminder-journeys.test.ts', 'a missing receiver closes its channel until an operator opens it'],
  },
  {
    command: 'reminders replies <x>',
    by: ['src/operator/control/problems.ts'],
    effect: 'shows the replies and the command that ends the problem',
    shownBy: [
      'test/features/reminders/callbacks.test.ts',
      'reaches the desk once: status, alert and list, and stops no reminder',
    ],
  },
  {
    command: 'reminders upcoming <x>',
    by: ['src/operator/http-server/pages/clinic/page.ts'],
    effect: 'lists every planned reminder',
    shownBy: ['test/features/reminders/reminders.test.ts', 'that are planned, the next one first'],
  },
  {
    command: 'restore --all <x>',
    by: ['managed-damaged.all-remedy', 'managed-lost.remedy'],
    effect: 'the managed tenants are back',
    shownBy: MANAGED,
  },
  {
    command: 'retry <x>',
    by: ['src/operator/control/incidents.ts'],
    effect: 'the daemon retries the server now',
    shownBy: [
      'test/operator/cli/retry.test.ts',
      'the command of the problem makes the daemon retry the server, and lists its clinics',
    ],
  },
  {
    command: 'run',
    by: ['daemon-not-running.remedy', 'src/setup/init/initialise.ts'],
    effect: 'a daemon runs, and the problem is gone',
    shownBy: [
      'test/e2e/surfaces-unreadable.test.ts',
      'after the daemon ended its ports are closed, and the commands agree that no daemon runs',
    ],
  },
  {
    command: 'runs',
    by: ['no-such-run.remedy'],
    effect: 'shows the id that the refused command accepts',
    shownBy: UNKNOWN_NAMES,
  },
  {
    command: 'sessions',
    by: ['no-such-session.remedy'],
    effect: 'shows the id that the refused command accepts',
    shownBy: UNKNOWN_NAMES,
  },
  {
    command: 'status --problems',
    by: ['server-not-away.remedy'],
    effect: 'shows the name that the refused command accepts',
    shownBy: UNKNOWN_NAMES,
  },
  {
    command: 'status --problems',
    by: ['src/features/alerts/texts.ts', 'src/operator/http-server/pages/overview.ts'],
    effect: 'shows every problem',
    shownBy: [
      'test/e2e/surfaces.test.ts',
      'every surface shows each fault of the installation as one problem that stops every clinic, and its end',
    ],
  },
  {
    command: 'status',
    by: ['src/operator/http-server/pages/texts/installation.ts'],
    effect: 'shows the same problems',
    shownBy: [
      'test/operator/http-server/pages/installation.test.ts',
      'shows the problems of the status in their part, with the next step',
    ],
  },
  {
    command: 'status',
    by: ['account-differs.remedy', 'account-not-accepted.remedy'],
    effect: 'shows the account of the connection',
    shownBy: ACCOUNT,
  },
  {
    command: 'status <x>',
    by: ['src/operator/cli/render-summary.ts', 'src/operator/control/target-problems.ts'],
    effect: 'shows the details of a tenant, with its unreadable records',
    shownBy: [
      'test/operator/control/status.test.ts',
      'one permanently unreadable row: the time stays, and status reports all but one record in sync as of the cycle',
    ],
  },
  {
    command: 'sync',
    by: ['caldav.own-calendar-gone.remedy'],
    effect: 'creates and fills the calendar again',
    shownBy: ['test/e2e/read-back.test.ts', 'creates a deleted calendar of clinic-mirror again, and fills it'],
  },
  {
    command: 'sync',
    by: ['salesforce.object-not-found.remedy', 'salesforce.setup-changed.remedy'],
    effect: 'lists what is missing in the org',
    shownBy: [
      'test/e2e/crm-mistakes.test.ts',
      'a property missing from a CRM stops its target; the status shows the property and the remedy, and then the target continues',
    ],
  },
  {
    command: 'sync <x>',
    by: ['calendar-changed.remedy'],
    effect: 'fills the calendar in the settings',
    shownBy: [
      'test/engine/read-back.test.ts',
      'another calendar in the settings is filled by the sync that doctor proposes, and doctor is content',
    ],
  },
  {
    command: 'sync <x>',
    by: ['events-not-kept.remedy'],
    effect: 'writes every event, the deleted one included',
    shownBy: [
      'test/engine/read-back.test.ts',
      'a server that keeps nothing and is corrected gets every event by the sync that the remedy proposes',
    ],
  },
  {
    command: 'sync <x>',
    by: ['key-not-kept.remedy'],
    effect: 'writes every object, the deleted one included',
    shownBy: [
      'test/engine/read-back.test.ts',
      'a CRM that drops the key gets one contact, and status and doctor say what to do',
    ],
  },
  {
    command: 'sync <x>',
    by: ['src/setup/init/initialise.ts'],
    effect: 'fills the first calendar',
    shownBy: FIRST_CALENDAR,
  },
  {
    command: 'sync <x>',
    by: ['src/operator/cli/render-decisions.ts'],
    effect: 'writes the approved changes now',
    shownBy: HOLD,
  },
  {
    command: 'tenants accept --all',
    by: ['managed-damaged.all-remedy', 'src/operator/control/problems.ts'],
    effect: 'the missing tenants are no fault any more',
    shownBy: [
      'test/attacks/who-writes-redis-tenants.test.ts',
      'the next start notices that all managed tenants are gone, until an operator accepts it',
    ],
  },
  {
    command: 'tenants accept <x>',
    by: ['managed-damaged.remedy'],
    effect: 'the tenant of the older Redis runs',
    shownBy: [
      'test/attacks/who-writes-redis-tenants.test.ts',
      'a complete older Redis does not run against the mark in dataDirectory, until an operator accepts it',
    ],
  },
  {
    command: 'tenants adopt <x>',
    by: ['managed.in-file.remedy', 'src/operator/http-server/pages/configuration.ts'],
    effect: 'the tenant of a file is managed',
    shownBy: MANAGED,
  },
  {
    command: 'tenants export <x>',
    by: ['managed.revision-missing.remedy', 'src/operator/control/installation.ts'],
    effect: 'shows the configuration with its revision, which a replacement takes',
    shownBy: MANAGED,
  },
  {
    command: 'tenants list',
    by: ['src/features/managed-tenants/errors.ts'],
    effect: 'shows the id that the refused command accepts',
    shownBy: UNKNOWN_NAMES,
  },
  {
    command: 'tenants remove <x>',
    by: ['settings.file-of-managed.remedy'],
    effect: 'the file of the tenant counts',
    shownBy: MANAGED,
  },
  {
    command: 'tenants replace <x> <x>',
    by: ['src/operator/control/installation.ts'],
    effect: 'the changed configuration counts',
    shownBy: MANAGED,
  },
  {
    command: 'triggers reopen <x> <x>',
    by: ['src/operator/cli/render-triggers.ts', 'src/operator/control/problems.ts'],
    effect: 'the endpoint receives what waits, and the problem is gone',
    shownBy: ['test/features/triggers/triggers.test.ts', 'is opened by an operator, and receives all waiting messages'],
  },
  {
    command: 'undo <x> --dry-run',
    by: ['src/operator/cli/render-decisions.ts', 'src/operator/http-server/pages/clinic/undo.ts'],
    effect: 'shows what an undo restores, and writes nothing',
    shownBy: UNDO,
  },
  {
    command: 'undo <x> --release',
    by: ['src/operator/cli/render-decisions.ts'],
    effect: 'the rules of the target apply again',
    shownBy: UNDO,
  },
];
