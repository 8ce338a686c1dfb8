import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { batchAnswer, inputsOf } from './batch.ts';
import { type Context, checkQuery, readBody } from './call.ts';
import { invalidInput } from './errors.ts';

const LEGAL_BASES = [
  'LEGITIMATE_INTEREST_PQL',
  'LEGITIMATE_INTEREST_CLIENT',
  'PERFORMANCE_OF_CONTRACT',
  'CONSENT_WITH_NOTICE',
  'NON_GDPR',
  'PROCESS_AND_STORE',
  'LEGITIMATE_INTEREST_OTHER',
] as const;
const changeSchema = z.strictObject({
  subscriberIdString: z.email(),
  channel: z.literal('EMAIL'),
  statusState: z.enum(['SUBSCRIBED', 'UNSUBSCRIBED', 'NOT_SPECIFIED']),
  subscriptionId: z.int(),
  legalBasis: z.enum(LEGAL_BASES).optional(),
  legalBasisExplanation: z.string().min(1).optional(),
});

/** `GET /definitions` */
export function listTypes(context: Context): ApiAnswer {
  checkQuery(context.query, ['businessUnitId', 'includeTranslations']);
  const results = [...context.world.preferences.types].map(([id, name]) => ({
    id: String(id),
    name,
    communicationMethod: 'Email',
    purpose: 'Marketing',
    isActive: true,
    isDefault: false,
    isInternal: false,
  }));
  return batchAnswer(context, { status: 200, startedAt: context.world.now(), results, errors: [] });
}

/** `POST /statuses/batch/read`: returns every subscription type of each e-mail address. */
export function readStatuses(context: Context): ApiAnswer {
  checkQuery(context.query, ['channel', 'businessUnitId']);
  if (context.query.get('channel') !== 'EMAIL') {
    throw invalidInput("The query option 'channel' must be EMAIL.");
  }
  const { inputs } = readBody(context, inputsOf(z.email()));
  const results = inputs.map((subscriberIdString) => ({
    subscriberIdString,
    statuses: [...context.world.preferences.types.keys()].map((id) => tell(context, subscriberIdString, id)),
  }));
  return batchAnswer(context, { status: 200, startedAt: context.world.now(), results, errors: [] });
}

/** `POST /statuses/batch/write` */
export function writeStatuses(context: Context): ApiAnswer {
  checkQuery(context.query, []);
  const { world } = context;
  const { inputs } = readBody(context, inputsOf(changeSchema));
  for (const { subscriptionId, legalBasis, legalBasisExplanation } of inputs) {
    if (!world.preferences.types.has(subscriptionId)) {
      throw invalidInput('There is no subscription type of this id.');
    }
    const isGrounded = legalBasis === 'NON_GDPR' || (legalBasis !== undefined && legalBasisExplanation !== undefined);
    if (world.settings.dataPrivacy && !isGrounded) {
      throw invalidInput('A legal basis and its explanation are needed for this account.');
    }
  }
  const results = inputs.map((input) => {
    const { subscriberIdString, subscriptionId, statusState: status, legalBasis, legalBasisExplanation } = input;
    const at = world.now();
    world.preferences.set(subscriberIdString, subscriptionId, {
      ...{ status, source: 'Public API', legalBasis, legalBasisExplanation, at },
    });
    return tell(context, subscriberIdString, subscriptionId);
  });
  return batchAnswer(context, { status: 200, startedAt: world.now(), results, errors: [] });
}

function tell({ world }: Context, subscriberIdString: string, subscriptionId: number): object {
  const known = world.preferences.status(subscriberIdString, subscriptionId);
  const { at, ...told } = known ?? { status: 'NOT_SPECIFIED', source: 'Subscription was not specified', at: 0 };
  const subscriptionName = world.preferences.types.get(subscriptionId);
  const timestamp = new Date(at).toISOString();
  return { subscriberIdString, subscriptionId, subscriptionName, channel: 'EMAIL', ...told, timestamp };
}
