import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';

/** Loaded before another program: sends its requests for Google to the sandbox at GOOGLE_SANDBOX, and leaves others as they are. */
const sandbox = new URL(process.env.GOOGLE_SANDBOX ?? '');
const { request } = https;
https.request = (...given: unknown[]) => {
  const [options] = given as [https.RequestOptions];
  if (options.hostname !== 'www.googleapis.com') return Reflect.apply(request, https, given);
  const there = { protocol: 'http:', host: sandbox.hostname, hostname: sandbox.hostname, port: sandbox.port };
  const { agent: _agent, agents: _agents, ...others } = options as https.RequestOptions & { agents?: unknown };
  return Reflect.apply(http.request, http, [{ ...others, ...there }, ...given.slice(1)]);
};
syncBuiltinESMExports();
