import { keyKinds } from '../../state/keys.ts';

const { owned, ofTenant, ofTenantEach } = keyKinds({ isReadUnderFormerIds: true });

/**
 * Keys of reminders and their answers in Redis. `T` is the tenant's id, `H` the hash of an answer link's token. For terms and lifetimes, see
 * `state/keys.ts`.
 *
 * | key                                  | type   | lifetime          | writer            | reader                |
 * |--------------------------------------|--------|-------------------|-------------------|-----------------------|
 * | `cm:{T}:reminder:<id>`               | hash   | retention         | planner, sender   | sender, operator      |
 * | `cm:{T}:reminder-claim:<id>`         | string | two minutes       | sender            | sender                |
 * | `cm:{T}:reminders-open`              | zset   | until settled     | planner, sender   | planner, status       |
 * | `cm:{T}:reminders-settled`           | zset   | retention         | planner, sender   | operator              |
 * | `cm:{T}:reminders-of:<appointment>`  | set    | retention         | planner           | operator              |
 * | `cm:{T}:reminder-counts`             | hash   | permanent         | planner, sender   | metrics               |
 * | `cm:{T}:reminders-hour:<hour>`       | string | two hours         | sender            | sender                |
 * | `cm:{T}:reminder-report:<reference>` | string | retention         | callbacks         | operator              |
 * | `cm:{T}:reminders-told`              | zset   | appointment's     | sender, planner   | planner               |
 * | `cm:{T}:reminders-known`             | hash   | appointment's     | planner           | planner               |
 * | `cm:{T}:reminders-recipient:<hash>`  | set    | four days         | planner           | sender                |
 * | `cm:{T}:reminders-corrected:<hash>`  | zset   | an hour           | sender            | sender                |
 * | `cm:{T}:reminders-order`             | string | permanent         | sender            | sender                |
 * | `cm:{T}:reminders-wrong`             | hash   | until it ends     | planner, sender   | planner, status       |
 * | `cm:{T}:reminder-replies`            | hash   | three days        | callbacks         | operator, status      |
 * | `cm:{T}:reminder-channel-closed:<channel>` | string | until reopened | sender        | sender, status        |
 * | `cm:{answer-H}:answer-link`          | string | retention         | sender            | answers               |
 * | `cm:{T}:answer-claim:<id>`           | string | two minutes       | answers           | answers               |
 * | `cm:{T}:answers-minute:<minute>:<id>` | string | two minutes      | answers           | answers               |
 */
export const reminderKeys = {
  reminder: ofTenantEach('reminder'),
  reminderClaim: ofTenantEach('reminder-claim'),
  remindersOpen: ofTenant('reminders-open'),
  remindersSettled: ofTenant('reminders-settled'),
  remindersOf: ofTenantEach('reminders-of'),
  remindersTold: ofTenant('reminders-told'),
  remindersRecipient: ofTenantEach('reminders-recipient'),
  remindersCorrected: ofTenantEach('reminders-corrected'),
  remindersKnown: ofTenant('reminders-known'),
  remindersOrder: ofTenant('reminders-order'),
  remindersWrong: ofTenant('reminders-wrong'),
  reminderCounts: ofTenant('reminder-counts'),
  remindersHour: owned<[hour: number]>('tenant', 'reminders-hour'),
  reminderReport: ofTenantEach('reminder-report'),
  reminderReplies: ofTenant('reminder-replies'),
  reminderChannelClosed: ofTenantEach('reminder-channel-closed'),
  answerLink: (hash: string) => `cm:{answer-${hash}}:answer-link`,
  answerClaim: ofTenantEach('answer-claim'),
  answersMinute: owned<[minute: number, id: string]>('tenant', 'answers-minute'),
} as const;
