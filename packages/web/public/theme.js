// Runs before everything else. The schemas of the contract would compile themselves with `new Function`, which the
// page's policy forbids and reports; told so, they do without.
globalThis.__zod_globalConfig = { jitless: true };

// Before the first paint, so that a dark page never flashes white.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem('holdfast.theme');
  } catch {
    // A browser that keeps nothing follows the system.
  }
  const isDark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.classList.toggle('dark', isDark);
})();
