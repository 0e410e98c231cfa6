from believable import fill_library, fill_jobs
from conftest import LiveSite
from headgate.kernel.clock import RealClock
import asyncio
async def test_shots(live: LiveSite) -> None:
    await live.add_user()
    async def shoot(names, tag):
        for width in (1280, 390):
            for dark in (False, True):
                async with live.page(width=width, height=860, dark=dark) as page:
                    if "login" in names:
                        await page.goto(live.url+"/login"); await page.screenshot(path=f"/tmp/shots/login-{width}-{'dark' if dark else 'light'}.png")
                    await live.sign_in(page)
                    for n,p in names.items():
                        if n=="login": continue
                        await page.goto(live.url+p); await page.wait_for_timeout(300)
                        await page.screenshot(path=f"/tmp/shots/{n}-{width}-{'dark' if dark else 'light'}.png")
    await shoot({"empty":"/"}, "")
    await fill_library(live.database, RealClock().now()); await fill_jobs(live.database, RealClock().now())
    await shoot({"login":"/login","library":"/","channels":"/channels","jobs":"/jobs","account":"/account"}, "")
    print(live.complaints)
    assert live.complaints == []
