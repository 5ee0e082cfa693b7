"""Files of a Hugging Face hub at one revision, as a package."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Any

from qnnbuild.work.packages import missing_member
from qnnbuild.work.run import WorkError

# Read by huggingface_hub when it is imported.
SETTINGS = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


class HubPackage:
    """Endpoint and token come from the machine (HF_ENDPOINT, HF_TOKEN, `hf auth login`)."""

    def __init__(self, repo: str, revision: str, folder: Path) -> None:
        self.title = f"{repo} at {revision[:12]}"
        self._repo = repo
        self._revision = revision
        self._folder = folder
        self._hub = _library()
        self._names: tuple[str, ...] | None = None

    def names(self) -> tuple[str, ...]:
        if self._names is None:
            self._names = tuple(self._ask("list_repo_files"))
        return self._names

    def copy(self, member: str, to: Path) -> None:
        folder = self._folder.resolve()
        got = self._ask("hf_hub_download", filename=member, local_dir=str(folder))
        to.parent.mkdir(parents=True, exist_ok=True)
        Path(got).replace(to)

    def _ask(self, what: str, **values: str) -> Any:
        from huggingface_hub import errors  # an optional extra

        ask = getattr(self._hub.HfApi(), what)
        try:
            return ask(repo_id=self._repo, revision=self._revision, **values)
        except errors.LocalEntryNotFoundError as error:  # the hub could not be asked
            raise self._failed("the hub cannot be reached", error.__cause__ or error) from error
        except errors.EntryNotFoundError as error:
            raise missing_member(self, values["filename"]) from error
        except errors.GatedRepoError as error:
            raise self._refused(f"{self._repo} is only for who accepted its terms") from error
        except errors.RevisionNotFoundError as error:
            raise WorkError(
                f"{self._repo} has no revision {self._revision}",
                place="source.revision",
                hint="take the commit's 40 hex digits from the repo's history",
                exit_code=2,
            ) from error
        except errors.RepositoryNotFoundError as error:
            raise self._refused(f"the hub has no model {self._repo}, or it is private") from error
        except errors.HFValidationError as error:
            raise WorkError(
                f"'{self._repo}' is not the name of a model: org/name",
                place="source.hub",
                exit_code=2,
            ) from error
        except (errors.HfHubHTTPError, OSError) as error:
            raise self._failed("the hub did not give the file", error) from error

    def _refused(self, message: str) -> WorkError:
        has_token = "a token is set" if self._hub.get_token() else "no token is set"
        return WorkError(
            message,
            place="source.hub",
            facts=[("endpoint", _endpoint(self._hub)), ("login", has_token)],
            hint="log in with `hf auth login`, or put a token into HF_TOKEN",
        )

    def _failed(self, message: str, error: BaseException) -> WorkError:
        reason = next((line for line in str(error).splitlines() if line.strip()), "")
        return WorkError(
            message,
            place="source.hub",
            facts=[("endpoint", _endpoint(self._hub)), ("reason", reason or type(error).__name__)],
            hint="check the network, the proxy settings and HF_ENDPOINT, then run again",
        )


def _library() -> ModuleType:
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import huggingface_hub  # an optional extra
    except ImportError as error:
        raise WorkError(
            "sources of the form `hub:` need the package huggingface_hub",
            place="source.hub",
            hint="pip install 'qnnbuild[hub]'",
        ) from error
    return huggingface_hub


def _endpoint(hub: ModuleType) -> str:
    return str(hub.constants.ENDPOINT)
