import type { FastifyInstance } from 'fastify';
import type { SalesforceOAuth } from './oauth.ts';
import { emptyBin } from './recycle-bin.ts';
import { isLive } from './store.ts';
import type { World } from './world.ts';

/** Maximum number of records in one call (SOAP API Developer Guide, emptyRecycleBin). */
const MOST_IDS = 200;

/**
 * Adds the only supported call of the SOAP API (partner): `emptyRecycleBin`. The SOAP envelope carries the session; headers are ignored.
 * @see https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/sforce_api_calls_emptyrecyclebin.htm
 */
export function addSoapRoutes(app: FastifyInstance, oauth: SalesforceOAuth, world: World): void {
  app.post('/services/Soap/u/:version', (request, reply) => {
    const body = String(request.body);
    const xml = reply.type('text/xml; charset=utf-8');
    const [, session = ''] = /<sessionId>([^<]*)<\/sessionId>/.exec(body) ?? [];
    if (oauth.findSession(`Bearer ${session}`) === undefined) return xml.status(500).send(fault('INVALID_SESSION_ID'));
    const ids = [...body.matchAll(/<ids>(\w+)<\/ids>/g)].map(([, id = '']) => id);
    if (!body.includes('<emptyRecycleBin ')) return xml.status(500).send(fault('UNKNOWN_EXCEPTION'));
    if (ids.length > MOST_IDS) return xml.status(500).send(fault('EXCEEDED_ID_LIMIT'));
    world.counts.add('apiCalls');
    return xml.send(
      inEnvelope(`<emptyRecycleBinResponse>${ids.map((id) => resultOf(world, id)).join('')}</emptyRecycleBinResponse>`),
    );
  });
}

function resultOf(world: World, id: string): string {
  const record = world.store.find(id);
  if (record !== undefined && !isLive(record) && !world.settings.keepsBin) {
    emptyBin(world, id);
    return `<result><id>${id}</id><success>true</success></result>`;
  }
  const code = record === undefined ? 'INVALID_CROSS_REFERENCE_KEY' : 'INSUFFICIENT_ACCESS_OR_READONLY';
  const error = `<errors><message>refused</message><statusCode>${code}</statusCode></errors>`;
  return `<result>${error}<id>${id}</id><success>false</success></result>`;
}

function fault(code: string): string {
  return inEnvelope(
    `<soapenv:Fault><faultcode>sf:${code}</faultcode><faultstring>${code}</faultstring></soapenv:Fault>`,
  );
}

function inEnvelope(content: string): string {
  const names = 'xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns="urn:partner.soap.sforce.com"';
  return `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope ${names}><soapenv:Body>${content}</soapenv:Body></soapenv:Envelope>`;
}
