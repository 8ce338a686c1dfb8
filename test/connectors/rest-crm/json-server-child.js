// A REST server from elsewhere (json-server 0.17), in a process of its own: node json-server-child.js <database file>
import { createRequire } from 'node:module';

const jsonServer = createRequire(import.meta.url)('json-server');
const app = jsonServer.create();
app.use(jsonServer.defaults({ logger: false }));
app.use(jsonServer.router(process.argv[2]));
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${server.address().port}\n`);
});
