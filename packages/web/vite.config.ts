import { fileURLToPath } from 'node:url';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const text = `'(?:[^'\\\\\\n]|\\\\.)*'|"(?:[^"\\\\\\n]|\\\\.)*"`;
const prose = new RegExp(`(\\b(?:summary|description):\\s*|\\.describe\\(\\s*)(?:${text})`, 'g');

/** The prose of the API's documentation is a tenth of the first load, and no page shows it. */
const withoutProse: Plugin = {
  name: 'contract-without-prose',
  enforce: 'pre',
  transform: (code, id) =>
    /packages\/contract\/(operations|schemas|errors)\b/.test(id)
      ? { code: code.replace(prose, "$1''"), map: null }
      : undefined,
};

/** Everything is a file of our own origin: nothing is inlined into the page, so that the policy needs no exception. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/',
  plugins: [withoutProse, react(), tailwind()],
  // For work on the pages alone: `npx vite packages/web` beside a running service.
  server: { proxy: { '/api': { target: 'http://127.0.0.1:8787' } } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    manifest: true,
    modulePreload: { polyfill: false },
    target: 'es2023',
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
  },
});
