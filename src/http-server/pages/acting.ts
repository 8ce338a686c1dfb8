import type { FastifyRequest } from 'fastify';
import type { Acting } from '../../control/recording.ts';
import type { StopSignals } from '../../jobs/push.ts';
import type { ActVerb } from '../../model/acts.ts';
import { type Html, html } from '../../model/html.ts';
import type { Progress } from '../../model/tasks.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { formOf } from '../forms.ts';
import { type OperatorServices, servicesOf } from '../operator-desk.ts';
import { visitorOf } from '../visitors.ts';
import type { PageContext } from './context.ts';
import { ACTS } from './texts/acts.ts';

/** Who sent a form, and why: for the verbs that change something. */
export function actingOf(request: FastifyRequest, services: OperatorServices): Acting {
  const why = formOf(request).get('why')?.trim() ?? '';
  return services.acting(visitorOf(request), why === '' ? null : why);
}

/** What an operation that a form asks for is run with. */
export function operationContext(
  request: FastifyRequest,
  services: OperatorServices,
  { progress = () => {}, signals }: { progress?: Progress; signals?: StopSignals } = {},
): OperationContext {
  const { signal } = request;
  return {
    services: servicesOf(services),
    acting: actingOf(request, services),
    rights: visitorOf(request),
    progress,
    signals: signals ?? { stop: signal, abort: signal },
  };
}

/** Where a reason is given; nothing where the verb asks for none here. */
export function reasonField(
  { language, visitor }: PageContext,
  services: OperatorServices,
  verb: ActVerb,
): Html | null {
  if (visitor === null || !services.acting(visitor, null).desk.reasonFor.includes(verb)) return null;
  const words = ACTS[language];
  // A page may ask for several.
  const hint = `why-hint-${verb}`;
  return html`<label class="reason">${words.reason} <input name="why" required maxlength="200" aria-describedby="${hint}"></label><p class="quiet" id="${hint}">${words.reasonHint}</p>`;
}
