import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { PriceList } from '../data/billing-records.ts';
import type { ClinicData } from '../data/clinic-data.ts';
import type { Entry } from '../data/documents.ts';
import { simplePdf } from '../data/pdf.ts';
import { notFound } from '../rules/errors.ts';
import type { ApiContext } from './context.ts';
import { answerCreated, answerDocuments, entryToWire } from './documents.ts';
import { guard, pathParameter, tenantIdOf } from './guard.ts';
import { readInvoice, readReimbursements } from './record-bodies.ts';

const BASE = '/v2/tenants/:tenantId';

/** Sections 4.7, 4.9 and 4.13 of the specification. */
export function billingRoutes(app: FastifyInstance, context: ApiContext): void {
  priceListRoutes(app, context);
  invoiceRoutes(app, context);
  accountingRoutes(app, context);
}

/** Returns the price list with this id, otherwise the one with this code; undefined when neither exists. */
export function findPriceList(data: ClinicData, tenantId: string, idOrCode: string): Entry<PriceList> | undefined {
  const byId = data.priceLists.get(tenantId, idOrCode);
  return byId ?? data.priceLists.list(tenantId, { equal: { code: idOrCode } }, 0, 1).rows[0];
}

function priceListRoutes(app: FastifyInstance, context: ApiContext): void {
  const { data } = context;
  const read = { preHandler: guard(context, { scope: 'treatments', permission: 'treatments.read' }) };
  app.get(`${BASE}/pricelists`, read, async (request) => answerDocuments(context, request, data.priceLists));
  app.get(`${BASE}/pricelists/:idOrCode`, read, async (request) => {
    const found = findPriceList(data, tenantIdOf(request) ?? '', pathParameter(request, 'idOrCode') ?? '');
    if (found === undefined) throw notFound('price list');
    return entryToWire(context, found);
  });
}

function invoiceRoutes(app: FastifyInstance, context: ApiContext): void {
  const { data, invoices } = context;
  const read = { preHandler: guard(context, { scope: 'invoices', permission: 'invoices.read' }) };
  const write = { preHandler: guard(context, { scope: 'invoices', permission: 'invoices.write' }) };

  app.get(`${BASE}/invoices`, read, async (request) =>
    answerDocuments(context, request, data.invoices, { isDated: true, equal: ['patientId', 'sectionId', 'status'] }),
  );

  app.get(`${BASE}/invoices/:invoiceId`, read, async (request) => {
    const { tenantId, id } = target(request, 'invoiceId');
    return entryToWire(context, invoices.get(tenantId, id));
  });

  app.get(`${BASE}/invoices/:invoiceId/pdf`, read, async (request, reply) => {
    const { tenantId, id } = target(request, 'invoiceId');
    const { number, issueDate, customer, totalAmount } = invoices.get(tenantId, id).record;
    const pdf = simplePdf([
      `Fattura ${number} del ${issueDate}`,
      customer.name,
      `Totale EUR ${totalAmount.toFixed(2)}`,
    ]);
    return reply
      .type('application/pdf')
      .header('content-disposition', `attachment; filename="fattura-${id}.pdf"`)
      .send(pdf);
  });

  app.post(`${BASE}/invoices`, write, async (request, reply) => {
    const { tenantId } = target(request, 'invoiceId');
    const created = await invoices.create(tenantId, readInvoice(request.body));
    return answerCreated(reply, `/v2/tenants/${tenantId}/invoices/${created.record.id}`, entryToWire(context, created));
  });

  app.post(`${BASE}/invoices/:invoiceId/reimbursements`, write, async (request, reply) => {
    const { tenantId, id } = target(request, 'invoiceId');
    invoices.get(tenantId, id);
    const changed = invoices.reimburse(tenantId, id, readReimbursements(request.body));
    return answerCreated(reply, `/v2/tenants/${tenantId}/invoices/${id}`, entryToWire(context, changed));
  });
}

function accountingRoutes(app: FastifyInstance, context: ApiContext): void {
  const { data } = context;
  const read = { preHandler: guard(context, { scope: 'invoices', permission: 'invoices.read' }) };
  app.get(`${BASE}/accounting/sections`, read, async (request) =>
    answerDocuments(context, request, data.sections, { equal: ['issuerId'], toWire: (_, { record }) => record }),
  );
  app.get(`${BASE}/accounting/issuers`, read, async (request) =>
    answerDocuments(context, request, data.issuers, { toWire: (_, { record }) => record }),
  );
  app.get(`${BASE}/accounting/issuers/:issuerId`, read, async (request) => {
    const { tenantId, id } = target(request, 'issuerId');
    const issuer = data.issuers.get(tenantId, id);
    if (issuer === undefined) throw notFound('issuer');
    return issuer.record;
  });
}

function target(request: FastifyRequest, name: string): { tenantId: string; id: string } {
  return { tenantId: tenantIdOf(request) ?? '', id: pathParameter(request, name) ?? '' };
}
