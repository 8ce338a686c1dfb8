import { z } from 'zod';
import { mapOf, text } from './common-schemas.ts';
import type { SecretSchemas } from './secret-reference.ts';

/** A field name of HTTP (RFC 9110 section 5.6.2). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** One line of visible characters (RFC 9110 section 5.5). */
const HEADER_VALUE = /^[\x20-\x7e]+$/;
/** https://opentelemetry.io/docs/specs/semconv/general/naming/ */
const ATTRIBUTE_NAME = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$/;

/** Where traces and log lines go beside the log. */
export function telemetrySection(secrets: SecretSchemas) {
  const headerValue = secrets.text.refine((value) => HEADER_VALUE.test(value.reveal()), 'write it on one line');
  return z
    .strictObject({
      endpoint: z
        .url({ protocol: /^https?$/ })
        .refine(isBase, 'give it without user, query and fragment; /v1/traces and /v1/logs come behind it')
        .transform((written) => written.replace(/\/+$/, ''))
        .describe('Address of the collector, before /v1/traces and /v1/logs'),
      allowPrivateAddresses: z
        .boolean()
        .default(false)
        .describe('The collector is in your own network: private addresses and http are allowed'),
      protocol: z.enum(['http/protobuf', 'http/json']).default('http/protobuf').describe('How OTLP is spoken'),
      headers: mapOf(headerValue, z.string().regex(HEADER_NAME, 'give the name of a header'))
        .prefault({})
        .describe('Headers of each request, such as a key, by their names'),
      traces: z.boolean().default(true).describe('Send traces'),
      logs: z.boolean().default(true).describe('Send log lines'),
      sampledShare: z.number().min(0).max(1).default(1).describe('Share of traces that are sent, from 0 to 1'),
      serviceName: text.default('clinic-mirror').describe('What the collector calls this installation (service.name)'),
      resource: mapOf(text, z.string().regex(ATTRIBUTE_NAME, 'give the name of an attribute, such as deployment.name'))
        .prefault({})
        .describe('More of what tells it from others, such as deployment.environment.name'),
      tellOthers: z
        .boolean()
        .default(false)
        .describe('Send the trace context (traceparent) along with requests to clinics, vendors and gateways'),
    })
    .refine(({ endpoint, allowPrivateAddresses }) => allowPrivateAddresses || endpoint.startsWith('https:'), {
      path: ['endpoint'],
      message: 'give an https address, or set allowPrivateAddresses for a collector in your own network',
    })
    .optional()
    .describe(
      'A collector of OpenTelemetry that is sent traces and log lines; without it nothing is sent, and nothing of it is loaded',
    );
}

function isBase(written: string): boolean {
  const url = URL.parse(written);
  return url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
}

/** Where traces and log lines go, as read. */
export type TelemetrySettings = NonNullable<z.output<ReturnType<typeof telemetrySection>>>;
