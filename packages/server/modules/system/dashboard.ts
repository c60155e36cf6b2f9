import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

interface Asset {
  readonly type: string;
  readonly body: Buffer;
  readonly br: Buffer | undefined;
  readonly gzip: Buffer | undefined;
  /** Its name holds a hash of its contents. */
  readonly isImmutable: boolean;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** Only files of this origin, no inline script or style, and the page cannot turn text into script. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** The pages of the dashboard; it handles the paths below them itself. */
const pagePaths = ['/', '/sign-in', '/invitations/accept', '/account', '/organizations/new', '/o', '/o/*'];

/** Serves the built dashboard from memory. False when it was not built. */
export function serveDashboard(app: FastifyInstance, folder: string): boolean {
  if (!existsSync(join(folder, 'index.html'))) return false;
  const assets = readAssets(folder);
  const page = assets.get('/index.html');
  if (!page) return false;
  const sendPage = (request: FastifyRequest, reply: FastifyReply) => {
    reply.header('content-security-policy', policy);
    reply.header('cross-origin-opener-policy', 'same-origin');
    return sendAsset(request, reply, page);
  };
  for (const path of pagePaths) app.get(path, async (request, reply) => sendPage(request, reply));
  for (const [path, asset] of assets) {
    if (path !== '/index.html') app.get(path, async (request, reply) => sendAsset(request, reply, asset));
  }
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'GET') return undefined;
    // The printed link has two kinds of readers: a person gets a page with a button, a program is signed in at once.
    const isLink = request.routeOptions.url === '/auth/local' && !isProgram(request);
    // For an unknown address a person gets a page with a way on, a program gets JSON.
    const isLost = request.is404 && isPerson(request) && !/^\/api\/|\./.test(pathOf(request));
    if (!isLink && !isLost) return undefined;
    await sendPage(request, isLost ? reply.code(404) : reply);
    return reply;
  });
  return true;
}

/** A program asks for JSON, or its headers say that a script fetches. A link preview is not a program. */
function isProgram(request: FastifyRequest): boolean {
  const { accept = '', 'sec-fetch-mode': mode } = request.headers;
  return !accept.includes('text/html') && (accept.includes('application/json') || mode === 'cors');
}

const pathOf = ({ url }: FastifyRequest) => url.split('?', 1)[0] ?? '';

function isPerson({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes('text/html');
}

function readAssets(folder: string): Map<string, Asset> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath, entry.name));
  const optional = (path: string) => (existsSync(path) ? readFileSync(path) : undefined);
  return new Map(
    paths.flatMap((path): [string, Asset][] => {
      const type = types[extname(path)];
      if (!type) return [];
      const name = `/${relative(folder, path).replaceAll('\\', '/')}`;
      const asset = {
        type,
        body: readFileSync(path),
        br: optional(`${path}.br`),
        gzip: optional(`${path}.gz`),
        isImmutable: name.startsWith('/assets/'),
      };
      return [[name, asset]];
    }),
  );
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset): FastifyReply {
  const accepted = request.headers['accept-encoding'] ?? '';
  reply.header('cache-control', asset.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache');
  reply.header('vary', 'accept-encoding').type(asset.type);
  if (asset.br && /\bbr\b/.test(accepted)) return reply.header('content-encoding', 'br').send(asset.br);
  if (asset.gzip && /\bgzip\b/.test(accepted)) return reply.header('content-encoding', 'gzip').send(asset.gzip);
  return reply.send(asset.body);
}
