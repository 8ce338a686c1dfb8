import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { type Context, calendarFor, flag, jsonBody } from './call.ts';
import { invalid } from './errors.ts';
import { type AclRule, etagOf } from './world.ts';

/** Scopes that may change access rules (v3 reference). */
export const ACL_WRITE_SCOPES = ['calendar', 'calendar.acls'];
/** Scopes that may read access rules (v3 reference). */
export const ACL_READ_SCOPES = [...ACL_WRITE_SCOPES, 'calendar.acls.readonly'];

const ruleBody = z.strictObject({
  role: z.enum(['none', 'freeBusyReader', 'reader', 'writerWithoutPrivateAccess', 'writer', 'owner']),
  scope: z.union([
    z.strictObject({ type: z.literal('default') }),
    z.strictObject({ type: z.enum(['user', 'group']), value: z.email() }),
    z.strictObject({ type: z.literal('domain'), value: z.string().min(1) }),
  ]),
  kind: z.string().optional(),
  etag: z.string().optional(),
  id: z.string().optional(),
});

/** GET acl: the rules that give anything. Needs the role owner. Throws ApiError. */
export function listRules(context: Context): ApiAnswer {
  const { calendar } = calendarFor(context, 'owner', ACL_READ_SCOPES);
  const items = [...calendar.acl.values()].filter((rule) => rule.role !== 'none').map(toRuleResource);
  return { status: 200, body: { kind: 'calendar#acl', etag: etagOf(context.world.lastChange), items } };
}

/** Adds or replaces a rule, and mails the person unless sendNotifications is false. */
export function insertRule(context: Context): ApiAnswer {
  const { calendar } = calendarFor(context, 'owner', ACL_WRITE_SCOPES);
  const notify = flag(context.query, 'sendNotifications') ?? true;
  const parsed = ruleBody.safeParse(jsonBody(context));
  if (!parsed.success) {
    throw invalid(`Invalid value for: ${parsed.error.issues[0]?.path.join('.') || 'acl rule'}`);
  }
  const { role, scope } = parsed.data;
  const rule = context.world.setRule(calendar, scope, role);
  if (notify && (scope.type === 'user' || scope.type === 'group')) {
    context.world.counts.add('mails');
  }
  return { status: 200, body: toRuleResource(rule) };
}

function toRuleResource(rule: AclRule): object {
  return { kind: 'calendar#aclRule', etag: etagOf(rule.change), id: rule.id, scope: rule.scope, role: rule.role };
}
