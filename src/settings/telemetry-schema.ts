import { z } from 'zod';
import { HEADER_NAME, isTransportHeader } from '../core/model/header-names.ts';
import { issueText, message } from '../messages/message.ts';
import { mapOf, text } from './common-schemas.ts';
import type { SecretSchemas } from './secret-reference.ts';

/** One line of visible characters (RFC 9110 section 5.5). */
const HEADER_VALUE = /^[\x20-\x7e]+$/;
/** https://opentelemetry.io/docs/specs/semconv/general/naming/ */
const ATTRIBUTE_NAME = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$/;

/** Export of traces and logs in addition to the log. */
export function telemetrySection(secrets: SecretSchemas) {
  const headerValue = secrets.text.refine(
    (value) => HEADER_VALUE.test(value.reveal()),
    issueText(message('settings.one-line')),
  );
  return z
    .strictObject({
      endpoint: z
        .url({ protocol: /^https?$/ })
        .refine(isBase, issueText(message('settings.collector')))
        .transform((written) => written.replace(/\/+$/, ''))
        .meta({
          description: 'Base URL of the collector, without `/v1/traces` and `/v1/logs`.',
          examples: ['https://otel.example.org'],
        }),
      allowPrivateAddresses: z
        .boolean()
        .default(false)
        .describe('Allows private IP addresses and http, for a collector in your own network.'),
      protocol: z.enum(['http/protobuf', 'http/json']).default('http/protobuf').describe('OTLP encoding.'),
      headers: mapOf(
        headerValue,
        z
          .string()
          .regex(HEADER_NAME, issueText(message('settings.header-name')))
          .refine((name) => !isTransportHeader(name), issueText(message('settings.header-refused'))),
      )
        .prefault({})
        .describe('Additional request headers by name, such as an API key.'),
      traces: z.boolean().default(true).describe('Sends traces.'),
      logs: z.boolean().default(true).describe('Sends log lines.'),
      sampledShare: z.number().min(0).max(1).default(1).describe('Share of traces to send, from 0 to 1.'),
      serviceName: text.default('clinic-mirror').describe('Value of `service.name`.'),
      resource: mapOf(text, z.string().regex(ATTRIBUTE_NAME, issueText(message('settings.attribute-name'))))
        .prefault({})
        .meta({
          description: 'Additional resource attributes.',
          examples: [{ 'deployment.environment.name': 'production' }],
        }),
      tellOthers: z
        .boolean()
        .default(false)
        .describe('Adds the trace context (`traceparent`) to requests to clinics, vendors and gateways.'),
    })
    .refine(({ endpoint, allowPrivateAddresses }) => allowPrivateAddresses || endpoint.startsWith('https:'), {
      path: ['endpoint'],
      message: issueText(message('settings.private-collector')),
    })
    .optional()
    .describe(
      'OpenTelemetry collector for traces and log lines. Without a value the daemon sends nothing and does not load OpenTelemetry.',
    );
}

function isBase(written: string): boolean {
  const url = URL.parse(written);
  return url !== null && `${url.username}${url.password}${url.search}${url.hash}` === '';
}
