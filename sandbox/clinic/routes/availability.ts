import type { FastifyInstance, FastifyRequest } from 'fastify';
import { tenantOf } from '../data/clinic-data.ts';
import { availableSlots } from '../rules/availability.ts';
import { badRequest, notFound } from '../rules/errors.ts';
import { findPriceList } from './billing.ts';
import type { ApiContext } from './context.ts';
import { guard, pathParameter, tenantIdOf } from './guard.ts';
import type { ListPage } from './list-page.ts';
import { answerList, sliceOf } from './lists.ts';
import { moment, queryOf, values } from './query.ts';

const BASE = '/v2/tenants/:tenantId';
const DAY_MS = 86_400_000;
const USUAL_DAYS = 7;
const MOST_DAYS = 31;

/** What the second form adds: a slot as long as the treatment takes, with its price. */
interface Offer {
  treatmentId: string;
  priceListId: string;
  durationMinutes: number;
  price: number;
  currency: string;
}

/** Section 4.5 of the specification, both forms. Without `from` and `to` they show a week from now. */
export function availabilityRoutes(app: FastifyInstance, context: ApiContext): void {
  const read = { preHandler: guard(context, { scope: 'agenda', permission: 'agenda.read' }) };
  app.get(`${BASE}/availabilities`, read, async (request) => answerSlots(context, request));
  app.get(`${BASE}/treatments/:treatmentId/listprices/:priceListId/availabilities`, read, async (request) =>
    answerSlots(context, request, offerOf(context, request)),
  );
}

/** Throws ClinicError 404 when the treatment or the price list is unknown or the list has no price for it. */
function offerOf({ data }: ApiContext, request: FastifyRequest): Offer {
  const tenantId = tenantIdOf(request) ?? '';
  const treatmentId = pathParameter(request, 'treatmentId');
  const treatment = tenantOf(data, tenantId).treatments.find(({ id }) => id === treatmentId);
  const list = findPriceList(data, tenantId, pathParameter(request, 'priceListId') ?? '')?.record;
  const price = list?.prices.find((one) => one.treatmentId === treatmentId)?.price;
  if (treatment === undefined) throw notFound('treatment');
  if (list === undefined || price === undefined) throw notFound('price list');
  const { id, durationMinutes } = treatment;
  return { treatmentId: id, priceListId: list.id, durationMinutes, price, currency: list.currency };
}

function answerSlots(context: ApiContext, request: FastifyRequest, offer?: Offer): ListPage {
  const { data } = context;
  const query = queryOf(context, request);
  const from = moment(query, 'from', data.zone) ?? data.clock();
  const to = moment(query, 'to', data.zone) ?? from + USUAL_DAYS * DAY_MS;
  if (to <= from || to - from > MOST_DAYS * DAY_MS + DAY_MS / 24) {
    throw badRequest([{ field: 'to', message: `must come after from, by at most ${MOST_DAYS} days` }]);
  }
  const slots = availableSlots(data, tenantOf(data, tenantIdOf(request) ?? ''), {
    from,
    to,
    agendaIds: values(query, 'agendaId'),
    locationId: query.get('locationId') ?? undefined,
    doctorId: query.get('doctorId') ?? undefined,
    durationMs: offer === undefined ? undefined : offer.durationMinutes * 60_000,
  });
  return answerList(context, request, sliceOf(slots), (rows) =>
    rows.map(({ agenda, startAt, endAt }) => ({
      agendaId: agenda.id,
      locationId: agenda.locationId,
      doctorId: agenda.doctor?.id ?? null,
      start: data.zone.formatInstant(startAt),
      end: data.zone.formatInstant(endAt),
      durationMinutes: (endAt - startAt) / 60_000,
      ...offer,
    })),
  );
}
