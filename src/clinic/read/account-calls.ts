import { readJson } from '../../http/json.ts';
import { MirrorError } from '../../model/errors.ts';
import { addressOf } from '../http/addresses.ts';
import { send } from '../http/call.ts';
import type { ClinicContext } from '../http/context.ts';
import type { RecordOf } from '../schema/fields.ts';
import { tenantInfo as shape } from '../schema/places.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { recordIn } from './reading.ts';
import { compileRecords } from './records.ts';
import { readUserInfo, type UserInfo } from './users.ts';

/** General facts of a tenant. */
export type TenantFacts = RecordOf<typeof shape>;

/** The calls of specification sections 4.1 and 4.12; they need no scope beyond being logged in. */
export interface AccountCalls {
  /** @throws MirrorError `authorization`, code `user-unknown`, for a user without tenants */
  userInfo(signal: AbortSignal): Promise<UserInfo>;
  /** @throws MirrorError `contract`, code `bad-record`, when a field of it is not of its kind */
  tenantInfo(tenantId: string, signal: AbortSignal): Promise<TenantFacts>;
}

/** Prepares the calls under the context's profile. */
export function createAccountCalls(context: ClinicContext): AccountCalls {
  const { profile, compiled } = context;
  const map = compiled.of(compileTenantInfo);
  return {
    async userInfo(signal) {
      const label = 'clinic.userInfo.read';
      const answer = await send(context, { label, url: addressOf(context, ['userinfo']), signal });
      return readUserInfo(readJson(answer, label), profile);
    },
    async tenantInfo(tenantId, signal) {
      const label = 'clinic.tenantInfo.read';
      const url = addressOf(context, ['tenants', tenantId, 'info']);
      const mapped = map(recordIn(await send(context, { label, url, signal }), label, profile, 'tenantInfo'));
      if ('record' in mapped) return mapped.record;
      throw new MirrorError(`${label}: the field ${mapped.setAside.field} can not be read`, {
        actor: 'contract',
        code: 'bad-record',
        retry: 'later',
        remedy: `correct tenantInfo.fields in ${context.profileFile}`,
      });
    },
  };
}

function compileTenantInfo(profile: ClinicProfile) {
  return compileRecords(shape, profile.tenantInfo.fields, profile);
}
