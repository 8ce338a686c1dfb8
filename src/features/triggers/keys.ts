import { keyKinds } from '../../state/keys.ts';

const { ofTenant, ofTenantEach } = keyKinds({ isReadUnderFormerIds: false });

/**
 * Keys of triggers in Redis. `T` is the tenant's id. For terms and lifetimes, see `state/keys.ts`.
 *
 * | key                                  | type   | lifetime          | writer            | reader                |
 * |--------------------------------------|--------|-------------------|-------------------|-----------------------|
 * | `cm:{T}:trigger-readings`            | hash   | endpoint's        | triggers          | triggers, status      |
 * | `cm:{T}:triggers-known:<endpoint>/<event>` | zset | 90 days after its document | triggers | triggers          |
 * | `cm:{T}:triggers-appointments:<endpoint>/<event>` | hash | until the appointment is over | triggers | triggers |
 * | `cm:{T}:triggers-waiting:<endpoint>/<event>` | hash | until taken    | triggers          | triggers, status      |
 * | `cm:{T}:trigger-endpoint:<endpoint>` | hash   | endpoint's        | triggers, operator | triggers, status     |
 * | `cm:{T}:trigger-counts`              | hash   | permanent         | triggers          | status, metrics       |
 */
export const triggerRedisKeys = {
  triggerReadings: ofTenant('trigger-readings'),
  triggersKnown: ofTenantEach('triggers-known'),
  triggersAppointments: ofTenantEach('triggers-appointments'),
  triggersWaiting: ofTenantEach('triggers-waiting'),
  triggerEndpoint: ofTenantEach('trigger-endpoint'),
  triggerCounts: ofTenant('trigger-counts'),
} as const;
